import { type ClientOptions, createClient } from "@spillway/client";
import { seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { AdmissionServer } from "./admission-server.ts";
import { type HerdServer, ModelServer, type ServerOptions } from "./model-server.ts";
import { virtualFetch } from "./virtual-fetch.ts";

/** Promises between an answer and the attempt that follows from it. */
export const CLIENT_HOPS = 40;

/** The service of the storm: 80 per second, a line of two tenths of a second, so 24 of a herd go in. */
export const STORM_SERVER: ServerOptions = {
  slots: 8,
  serviceMs: 100,
  line: 16,
  lineMs: Number.POSITIVE_INFINITY,
  hint: "none",
};

export interface StormOptions {
  /** Callers who come at the same instant, each a process of its own. */
  readonly clients: number;
  readonly server: ServerOptions;
  /** Puts our own admission control in front of the same slots, with its own line and its own waits. Defaults to false. */
  readonly admission?: boolean;
  readonly client: ClientOptions;
  readonly seed: number;
  /** One way. Defaults to 1. */
  readonly networkMs?: number;
}

export interface StormResult {
  readonly clients: number;
  readonly attempts: number;
  readonly attemptsPerClient: number;
  readonly failures: number;
  readonly lastDoneMs: number;
  /** What the service needs for all of them when no slot ever stands idle. */
  readonly idealMs: number;
  /** The greatest number of requests that came within one slot of a twentieth of a second, the first herd left out. */
  readonly densestAfterFirst: number;
  /** When each request came, in order. */
  readonly arrivalsMs: readonly number[];
  /** When each caller had its answer, in order. */
  readonly doneMs: readonly number[];
}

const LONGEST_MS = 900_000;

/** Lets a herd loose on the service, in virtual time, with the real client. */
export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { clients, client, seed, networkMs = 1 } = options;
  const loop = new VirtualLoop(CLIENT_HOPS);
  const clock = virtualClock(loop, 0);
  const { slots, serviceMs } = options.server;
  const server: HerdServer = options.admission
    ? new AdmissionServer(loop, clock, slots, serviceMs)
    : new ModelServer(loop, options.server);
  const random = seededRandom(seed);
  const fetch = virtualFetch(loop, networkMs, (headers) => server.handle(headers));
  let failures = 0;
  const doneMs: number[] = [];
  const calls: Promise<void>[] = [];
  for (let caller = 0; caller < clients; caller++) {
    const own = createClient({ ...client, fetch, clock, random });
    loop.at(0, () => {
      const done = own.request("http://service.test/").then((outcome) => {
        if (outcome.kind === "answered" && outcome.response.ok) doneMs.push(loop.nowMs);
        else failures++;
      });
      calls.push(done);
    });
  }
  await loop.runUntil(LONGEST_MS);
  await Promise.all(calls);
  return {
    clients,
    attempts: server.arrivalsMs.length,
    attemptsPerClient: server.arrivalsMs.length / clients,
    failures,
    lastDoneMs: doneMs.at(-1) ?? 0,
    idealMs: (clients * serviceMs) / slots,
    densestAfterFirst: densest(server.arrivalsMs.slice(clients)),
    arrivalsMs: server.arrivalsMs,
    doneMs,
  };
}

function densest(timesMs: readonly number[]): number {
  const slots = new Map<number, number>();
  for (const atMs of timesMs) slots.set(Math.floor(atMs / 50), (slots.get(Math.floor(atMs / 50)) ?? 0) + 1);
  return Math.max(0, ...slots.values());
}
