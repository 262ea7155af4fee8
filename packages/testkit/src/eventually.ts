/** How long and how often {@link eventually} looks. */
export interface EventuallyOptions {
  /** How long to go on trying, in milliseconds. */
  readonly withinMs: number;
  /** The pause between two tries, in milliseconds. */
  readonly everyMs?: number;
}

const DEFAULT_PAUSE_MS = 20;

/**
 * Repeats a check until it neither throws nor returns false, and gives back what it returned then. A check that is
 * still running when the time is up counts as failed.
 *
 * @throws the last error of the check, or an error that says what it returned, once the time is up
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: EventuallyOptions,
): Promise<Exclude<T, false>> {
  const until = performance.now() + options.withinMs;
  const pauseMs = options.everyMs ?? DEFAULT_PAUSE_MS;
  let failure: unknown = new Error(`The check did not finish within ${options.withinMs} ms.`);
  for (;;) {
    const result = await attempt(check, Math.max(1, until - performance.now()));
    if (result.kind === "passed") return result.value;
    if (result.kind === "failed") failure = result.error;
    if (performance.now() + pauseMs > until) throw failure;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

type Attempt<T> =
  | { readonly kind: "passed"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "unfinished" };

async function attempt<T>(check: () => T | Promise<T>, ms: number): Promise<Attempt<Exclude<T, false>>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Attempt<never>>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "unfinished" }), ms);
  });
  try {
    return await Promise.race([settle(check), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function settle<T>(check: () => T | Promise<T>): Promise<Attempt<Exclude<T, false>>> {
  try {
    const value = await check();
    if (value === false) return { kind: "failed", error: new Error("The check still returned false.") };
    return { kind: "passed", value: value as Exclude<T, false> };
  } catch (error) {
    return { kind: "failed", error };
  }
}
