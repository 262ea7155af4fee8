import { type ManualClock, manualClock } from "spillway/testing";
import { type Client, createClient } from "./client.ts";
import type { ClientOptions } from "./client-options.ts";
import type { Outcome } from "./outcome.ts";

/** Lets promises that are due settle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** One request as a server saw it. */
export interface SeenRequest {
  readonly atMs: number;
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
}

/** How the made-up server answers one request: a status, with headers and the time it takes, or an error's code. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly takesMs?: number;
  readonly error?: string;
}

export interface Bench {
  readonly clock: ManualClock;
  readonly client: Client;
  readonly seen: SeenRequest[];
  /** Bodies of answers that nobody read and that were let go. */
  readonly letGo: number[];
  /** Lets time pass in small steps, so that what waits on what can follow. */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** A call, and time until it is over. @throws Error when it is not within `withinMs`. */
  finish<T>(promise: Promise<T>, withinMs?: number): Promise<T>;
  request(url?: string, init?: RequestInit): Promise<Outcome>;
}

export const URL_OF_TESTS = "http://service.test/thing";

/** A client on a clock that stands still, in front of a server that answers as it is told: by place in order, the last for good. */
export function bench(
  answers: readonly Answer[] | ((seen: SeenRequest) => Answer),
  options: ClientOptions = {},
): Bench {
  const clock = manualClock();
  const seen: SeenRequest[] = [];
  const letGo: number[] = [];
  const answerTo = (request: SeenRequest): Answer =>
    typeof answers === "function" ? answers(request) : (answers[Math.min(seen.length, answers.length) - 1] as Answer);
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const request = { atMs: clock.monotonicMs(), url: String(input), init, headers: new Headers(init.headers) };
    seen.push(request);
    const { status = 200, headers = {}, body = "body", takesMs = 0, error } = answerTo(request);
    if (takesMs > 0) await aborted(clock, takesMs, init.signal ?? undefined);
    if (error !== undefined) throw Object.assign(new TypeError("fetch failed"), { cause: { code: error } });
    return new Response(
      streamOf(body, () => letGo.push(seen.indexOf(request))),
      { status, headers },
    );
  };
  const client = createClient({ fetch: fetch as typeof globalThis.fetch, clock, ...options });
  const pass = async (ms: number, stepMs = 5): Promise<void> => {
    for (const untilMs = clock.monotonicMs() + ms; clock.monotonicMs() < untilMs; ) {
      await settle();
      clock.advance(Math.min(stepMs, untilMs - clock.monotonicMs()));
    }
    await settle();
  };
  return {
    clock,
    client,
    seen,
    letGo,
    pass,
    async finish<T>(promise: Promise<T>, withinMs = 100_000): Promise<T> {
      let over = false;
      const watch = (): void => {
        over = true;
      };
      promise.then(watch, watch);
      for (let passedMs = 0; !over && passedMs <= withinMs; passedMs += 25) await pass(25, 25);
      if (!over) throw new Error(`The call is not over after ${withinMs} ms.`);
      return promise;
    },
    request: (url = URL_OF_TESTS, init) => client.request(url, init),
  };
}

function streamOf(text: string, onCancel: () => void): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
    cancel: onCancel,
  });
}

/** Time that a server takes, cut short as the platform's fetch is. */
function aborted(clock: ManualClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.startTimer(resolve, ms, false);
    signal?.addEventListener("abort", () => {
      timer.cancel();
      reject(signal.reason);
    });
  });
}
