import { type ClientOptions, createClient } from "@spillway/client";
import { seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { CLIENT_HOPS } from "./storm.ts";
import { virtualFetch } from "./virtual-fetch.ts";

/** When a dependency that answers within 20 ms hangs, and who calls it. */
export interface HangSetting {
  readonly everyMs: number;
  readonly hangsFromMs: number;
  readonly hangsToMs: number;
  readonly endMs: number;
}

export interface HangResult {
  readonly calls: number;
  readonly served: number;
  /** Calls that had no answer within their deadline. */
  readonly timedOut: number;
  /** Calls that the client refused without sending them. */
  readonly refused: number;
  readonly mostInFlight: number;
  /** Calls in flight at each tenth of a second. */
  readonly inFlight: readonly (readonly [atMs: number, calls: number])[];
  /** From the first request that is answered again to the breaker's closing; `undefined` when it did not open, or stays. */
  readonly closedAfterMs: number | undefined;
  /** From the end of the hang to that first request. */
  readonly triedAfterMs: number | undefined;
}

const ANSWER_MS = 20;
const SAMPLE_MS = 100;

/** Calls at a steady rate, whatever becomes of them, of a dependency that accepts requests and answers none for a while. */
export async function runHang(setting: HangSetting, options: ClientOptions): Promise<HangResult> {
  const { everyMs, hangsFromMs, hangsToMs, endMs } = setting;
  const loop = new VirtualLoop(CLIENT_HOPS);
  let [triedMs, closedMs, mostInFlight]: (number | undefined)[] = [undefined, undefined, 0];
  const fetch = virtualFetch(loop, 1, () => {
    const hangs = loop.nowMs >= hangsFromMs && loop.nowMs < hangsToMs;
    if (hangs) return new Promise(() => undefined);
    if (loop.nowMs >= hangsToMs) triedMs ??= loop.nowMs;
    return new Promise((resolve) => void loop.after(ANSWER_MS, () => resolve(new Response(null))));
  });
  const client = createClient({
    ...options,
    fetch,
    clock: virtualClock(loop, 0),
    random: seededRandom(1),
    onStateChange({ state }) {
      if (state === "closed" && loop.nowMs >= hangsToMs) closedMs ??= loop.nowMs;
    },
  });
  const count = { served: 0, timedOut: 0, refused: 0 };
  const calls: Promise<void>[] = [];
  for (let atMs = 0; atMs < endMs; atMs += everyMs)
    loop.at(atMs, () => {
      const call = client.request("http://hung.test/").then(({ kind }) => {
        count[kind === "answered" ? "served" : kind === "failed" ? "timedOut" : "refused"]++;
      });
      calls.push(call);
      mostInFlight = Math.max(mostInFlight as number, client.stats().inFlight);
    });
  const inFlight: [number, number][] = [];
  for (let atMs = 0; atMs < endMs; atMs += SAMPLE_MS)
    loop.at(atMs + 1, () => inFlight.push([atMs, client.stats().inFlight]));
  await loop.runUntil(endMs + 60_000);
  await Promise.all(calls);
  return {
    ...count,
    calls: calls.length,
    mostInFlight: mostInFlight as number,
    inFlight,
    triedAfterMs: triedMs === undefined ? undefined : triedMs - hangsToMs,
    closedAfterMs: triedMs === undefined || closedMs === undefined ? undefined : closedMs - triedMs,
  };
}
