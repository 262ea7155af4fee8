import { type ClientOptions, type ClientStats, createClient } from "@spillway/client";
import { exponentialMs, seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { ModelServer, type ServerOptions } from "./model-server.ts";
import { CLIENT_HOPS } from "./storm.ts";
import { virtualFetch } from "./virtual-fetch.ts";

/** The service that users ask too much of: 62 per second, a line of half a second, of which nobody waits more than 0.3 s. */
export const SHEDDING_SERVER: ServerOptions = {
  slots: 4,
  serviceMs: 64.5,
  line: 33,
  lineMs: 300,
  hint: "second",
};

export interface UsersOptions {
  /** Offered load as a multiple of what the service can do. */
  readonly load: number;
  readonly seconds: number;
  readonly server: ServerOptions;
  /** All users share one client. */
  readonly client: ClientOptions;
  readonly seed: number;
}

export interface UsersResult {
  readonly users: number;
  readonly attemptsPerUser: number;
  readonly served: number;
  /** Of the users, from 0 to 1. */
  readonly servedShare: number;
  /** Of the users those who were served before the last of them came, from 0 to 1: what comes after has the service to itself. */
  readonly servedMeanwhile: number;
  readonly stats: ClientStats;
}

/** Users who come at random at a steady rate, whether or not earlier ones were served, in virtual time. */
export async function runUsers({ load, seconds, server: served, client, seed }: UsersOptions): Promise<UsersResult> {
  const loop = new VirtualLoop(CLIENT_HOPS);
  const server = new ModelServer(loop, served);
  const random = seededRandom(seed);
  const fetch = virtualFetch(loop, 1, () => server.handle());
  const shared = createClient({ ...client, fetch, clock: virtualClock(loop, 0), random });
  const perMs = (load * served.slots) / served.serviceMs;
  let [users, good, meanwhile] = [0, 0, 0];
  const calls: Promise<void>[] = [];
  for (let atMs = exponentialMs(random, perMs); atMs < seconds * 1000; atMs += exponentialMs(random, perMs)) {
    users++;
    loop.at(atMs, () => {
      calls.push(
        shared.request("http://service.test/").then((outcome) => {
          if (outcome.kind !== "answered" || !outcome.response.ok) return;
          good++;
          if (loop.nowMs <= seconds * 1000) meanwhile++;
        }),
      );
    });
  }
  await loop.runUntil(seconds * 1000 + 100_000);
  await Promise.all(calls);
  return {
    users,
    attemptsPerUser: server.attempts / users,
    served: good,
    servedShare: good / users,
    servedMeanwhile: meanwhile / users,
    stats: shared.stats(),
  };
}
