import type { VirtualLoop } from "../../simulator/virtual-loop.ts";

/** Answers one request; it gets the headers that came. */
export type Handler = (headers: Headers) => Promise<Response>;

/** A fetch that reaches `handler` over a network of so much delay each way, and that an abort ends. */
export function virtualFetch(loop: VirtualLoop, delayMs: number, handler: Handler): typeof globalThis.fetch {
  return (_input, init = {}) =>
    new Promise((resolve, reject) => {
      const signal = init.signal ?? undefined;
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      loop.after(delayMs, () => {
        handler(new Headers(init.headers)).then(
          (response) => loop.after(delayMs, () => resolve(response)),
          (error: unknown) => loop.after(delayMs, () => reject(error)),
        );
      });
    });
}
