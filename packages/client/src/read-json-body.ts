import type { Clock } from "spillway";
import { onAbort } from "spillway/kit";

const MOST_BYTES = 16_384;

/** How much is waited for the rest of an answer whose head is there. */
export interface BodyPatience {
  readonly clock: Clock;
  readonly withinMs: number;
  readonly signal: AbortSignal | undefined;
}

export interface BodyReading {
  /** `undefined` for what is no JSON, does not parse, is longer than 16 KiB, or is not there in time or before an abort. */
  readonly json: unknown;
  /** Gives up what was not read to its end. Until then, or until the answer is collected, its connection is not free. */
  readonly end?: () => void;
}

const NONE: BodyReading = { json: undefined };
const collected = new FinalizationRegistry<() => void>((end) => end());

/** The JSON of an answer, read from a clone, so that the answer's own body stays to be read. */
export async function readJsonBody(response: Response, patience: BodyPatience): Promise<BodyReading> {
  if (!/json/i.test(response.headers.get("content-type") ?? "") || !response.body) return NONE;
  if (Number(response.headers.get("content-length") ?? 0) > MOST_BYTES) return NONE;
  try {
    const reader = (response.clone().body as ReadableStream<Uint8Array>).getReader();
    const bytes = await firstBytes(reader, patience);
    if (bytes !== undefined) return { json: JSON.parse(new TextDecoder().decode(bytes)) };
    // Not at once: after one half of a clone was cancelled, an abort rejects a promise of the platform's that nobody has.
    const end = (): void => void reader.cancel().catch(() => undefined);
    collected.register(response, end);
    return { json: undefined, end };
  } catch {
    return NONE;
  }
}

/** All bytes; `undefined` when they are too many, or when patience ends before they are there. */
async function firstBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { clock, withinMs, signal }: BodyPatience,
): Promise<Uint8Array | undefined> {
  let giveUp = (): void => undefined;
  const givenUp = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined);
  });
  const timer = clock.startTimer(giveUp, withinMs, true);
  const takeBack = signal === undefined ? undefined : onAbort(signal, giveUp);
  try {
    const chunks: Uint8Array[] = [];
    for (let length = 0; length <= MOST_BYTES; ) {
      const reading = reader.read();
      // It may be left behind, and reject later.
      reading.catch(() => undefined);
      const part = await Promise.race([reading, givenUp]);
      if (part === undefined) return undefined;
      if (part.done) return Buffer.concat(chunks);
      chunks.push(part.value);
      length += part.value.byteLength;
    }
    return undefined;
  } finally {
    timer.cancel();
    takeBack?.();
  }
}
