/** Whether the request goes in. */
export type Decide = (key: string) => Promise<boolean>;

/**
 * `callers` callers, each of whom asks again as soon as it has its answer. `nextKey` is asked before each call and ends a
 * caller by `undefined`. Returns how many were admitted and how many refused.
 */
export async function closedLoop(
  callers: number,
  decide: Decide,
  nextKey: () => string | undefined,
): Promise<{ admitted: number; refused: number }> {
  let admitted = 0;
  let refused = 0;
  const caller = async (): Promise<void> => {
    for (let key = nextKey(); key !== undefined; key = nextKey()) {
      if (await decide(key)) admitted++;
      else refused++;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { admitted, refused };
}

/** Gives out each key once. */
export function eachOnce(keys: readonly string[]): () => string | undefined {
  let next = 0;
  return () => keys[next++];
}

/** Gives out one key until the time is over. */
export function oneUntil(key: string, untilMs: number): () => string | undefined {
  return () => (performance.now() < untilMs ? key : undefined);
}
