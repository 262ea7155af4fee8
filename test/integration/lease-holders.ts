import { startWorkerFleet } from "@spillway/testkit";
import type { RateLimiterOptions } from "spillway";
import type { Span } from "../chaos/admissions.ts";
import type { RedisFixture } from "../support/redis-fixture.ts";

const MODULE = new URL("fixtures/lease-holder.mjs", import.meta.url);

/** What a holder tells after it consumed. */
export interface HolderReport {
  readonly allowed: number;
  readonly sources: Readonly<Record<string, number>>;
  /** Of all leased tokens so far: spent, grown too old, and still in hand. */
  readonly spent: number;
  readonly expired: number;
  readonly held: number;
}

export interface RandomLoad {
  /** Of the limiter that consumes. */
  readonly options: Pick<RateLimiterOptions, "policies" | "lease">;
  readonly key: string;
  /** How many times at once to begin with. */
  readonly first: number;
  readonly seed: number;
  readonly atOnce: number;
  readonly pauseMs: number;
  readonly forMs: number;
}

/** Processes that lease from one Redis. */
export interface Holders {
  /** Consumes `count` times at once. */
  atOnce(index: number, count: number, key?: string): Promise<HolderReport>;
  /** Consumes one after another. */
  steadily(index: number, everyMs: number, forMs: number): Promise<HolderReport>;
  /** Consumes by chance, by a seed: up to `atOnce` times at once, with pauses of up to `pauseMs` between, from a limiter of its own. */
  randomly(index: number, load: RandomLoad): Promise<HolderReport & { readonly admissions: readonly Span[] }>;
  /** Consumes until it holds leased tokens. */
  untilItHolds(index: number, atLeast: number): Promise<HolderReport>;
  /** What local state decides at once. */
  now(index: number, count: number): Promise<HolderReport & { readonly undecided: number }>;
  remaining(index: number): Promise<number>;
  close(index: number): Promise<{ readonly ms: number; readonly held: number }>;
  signal(index: number, signal: NodeJS.Signals): void;
  exited(index: number): Promise<number | NodeJS.Signals>;
}

/** Starts `count` processes with the same options; they end after the test. */
export async function startHolders(
  redis: RedisFixture,
  count: number,
  options: Pick<RateLimiterOptions, "policies" | "lease">,
): Promise<Holders> {
  const env = { REDIS_PORT: String(redis.server.port), OPTIONS: JSON.stringify(options) };
  const fleet = await startWorkerFleet({ module: MODULE, count, env });
  redis.afterwards(() => fleet.stop());
  const ask = async <T>(index: number, operation: string, rest: object = {}): Promise<T> =>
    (await fleet.ask(index, { operation, ...rest }, 20_000)) as T;
  return {
    atOnce: (index, asks, key = "k") => ask(index, "atOnce", { count: asks, key }),
    steadily: (index, everyMs, forMs) => ask(index, "steadily", { everyMs, forMs }),
    randomly: (index, load) => ask(index, "randomly", load),
    untilItHolds: (index, atLeast) => ask(index, "untilItHolds", { atLeast }),
    now: (index, asks) => ask(index, "now", { count: asks }),
    remaining: (index) => ask(index, "remaining"),
    close: (index) => ask(index, "close"),
    signal: (index, signal) => fleet.signal(index, signal),
    exited: (index) => fleet.exited(index),
  };
}
