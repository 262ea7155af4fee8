import { type ClientOptions, createClient, onBehalfOf } from "@spillway/client";
import { seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { CLIENT_HOPS } from "./storm.ts";
import { type Handler, virtualFetch } from "./virtual-fetch.ts";

export interface HopsOptions {
  /** Services between the user and the bottom, plus one: how many layers may retry. */
  readonly hops: number;
  readonly users: number;
  readonly everyMs: number;
  readonly client: ClientOptions;
  /** Whether services run their work on behalf of the request that came. */
  readonly inherits: boolean;
  /** Whether the bottom fails the request; told its number. */
  readonly fails: (call: number) => boolean;
  /** What each service does before it calls the next one. Defaults to nothing. */
  readonly workMs?: number;
  /** After this long from a user's call, what reaches the bottom is late. Must be less than `everyMs`. */
  readonly userDeadlineMs?: number;
}

const NETWORK_MS = 1;

export interface HopsResult {
  readonly callsAtBottom: number;
  readonly callsPerUser: number;
  /** Of the users, from 0 to 1. */
  readonly served: number;
  /** Requests that reached the bottom after the user's deadline and the time on the way. */
  readonly lateAtBottom: number;
}

/** A stack of services, each of which calls the next one with a client of its own, in virtual time. */
export async function runHops(options: HopsOptions): Promise<HopsResult> {
  const { hops, users, everyMs, client, inherits, fails, workMs = 0, userDeadlineMs = everyMs } = options;
  const loop = new VirtualLoop(CLIENT_HOPS * hops);
  const clock = virtualClock(loop, 0);
  const random = seededRandom(1);
  let [callsAtBottom, lateAtBottom, served] = [0, 0, 0];
  let next: Handler = async () => {
    if (loop.nowMs % everyMs > userDeadlineMs + hops * NETWORK_MS) lateAtBottom++;
    return new Response(null, { status: fails(callsAtBottom++) ? 503 : 200 });
  };
  for (let hop = 1; hop < hops; hop++) next = service(next);

  function service(below: Handler): Handler {
    const own = createClient({ ...client, fetch: virtualFetch(loop, NETWORK_MS, below), clock, random });
    return (headers) => {
      const work = async (): Promise<Response> => {
        if (workMs > 0) await new Promise<void>((resolve) => void loop.after(workMs, resolve));
        const outcome = await own.request("http://below.test/");
        return outcome.kind === "answered" ? outcome.response : new Response(null, { status: 503 });
      };
      return inherits ? onBehalfOf(headers, work, { clock }) : work();
    };
  }

  const user = createClient({ ...client, fetch: virtualFetch(loop, NETWORK_MS, next), clock, random });
  const calls: Promise<unknown>[] = [];
  const asked = async (): Promise<void> => {
    const outcome = await user.request("http://top.test/");
    if (outcome.kind === "answered" && outcome.response.ok) served++;
  };
  for (let call = 0; call < users; call++) loop.at(call * everyMs, () => calls.push(asked()));
  await loop.runUntil(users * everyMs + 100_000);
  await Promise.all(calls);
  return { callsAtBottom, callsPerUser: callsAtBottom / users, served: served / users, lateAtBottom };
}
