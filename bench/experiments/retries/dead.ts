import { type ClientOptions, createClient } from "@spillway/client";
import { seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { CLIENT_HOPS } from "./storm.ts";
import { virtualFetch } from "./virtual-fetch.ts";

export interface DeadResult {
  readonly requests: number;
  readonly retries: number;
}

/** So many calls, one each `everyMs`, of a dependency that answers all of them with 503, in virtual time. */
export async function runDead(
  calls: number,
  everyMs: number,
  client: ClientOptions,
  seed: number,
): Promise<DeadResult> {
  const loop = new VirtualLoop(CLIENT_HOPS);
  let requests = 0;
  const fetch = virtualFetch(loop, 1, async () => {
    requests++;
    return new Response(null, { status: 503 });
  });
  const shared = createClient({ ...client, fetch, clock: virtualClock(loop, 0), random: seededRandom(seed) });
  const outcomes: Promise<unknown>[] = [];
  for (let call = 0; call < calls; call++)
    loop.at(call * everyMs, () => outcomes.push(shared.request("http://dead.test/")));
  await loop.runUntil(calls * everyMs + 100_000);
  await Promise.all(outcomes);
  return { requests, retries: shared.stats().retries };
}
