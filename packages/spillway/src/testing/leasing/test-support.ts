import { expect } from "vitest";
import type { Decision } from "../../decision.ts";
import type { PolicyOptions } from "../../policy.ts";
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from "../../rate-limiter.ts";
import type { TakeCall } from "../../stores/store.ts";
import { DEADLINE_MS, type DistantSetup, distantLimiter, passTime } from "../test-support.ts";

/** 1 per ms, drained in 50 ms: leases live for 100 ms and are spent for 75. */
export const BUCKET: PolicyOptions = { name: "bucket", limit: 1000, period: "1s", burst: 200 };

export function leasing(options: Partial<RateLimiterOptions> = {}): DistantSetup {
  return distantLimiter({ policies: BUCKET, lease: {}, ...options });
}

/** Another process at the same store, on the same clock. */
export function neighbour({ store, clock }: DistantSetup, options: Partial<RateLimiterOptions> = {}): RateLimiter {
  return createRateLimiter({
    policies: BUCKET,
    lease: {},
    deadlineMs: DEADLINE_MS,
    maxKeys: 10,
    clock,
    store,
    ...options,
  });
}

/** Asks `perMs` times in each of `ms` milliseconds. */
export async function busy(
  setup: DistantSetup,
  perMs: number,
  ms: number,
  limiter = setup.limiter,
): Promise<Decision[]> {
  const decisions: Promise<Decision>[] = [];
  for (let n = 0; n < ms; n++) {
    for (let i = 0; i < perMs; i++) decisions.push(limiter.consume("key"));
    await passTime(setup, 1);
  }
  return Promise.all(decisions);
}

/** Busy until it has just fetched tokens for more than ten milliseconds. */
export async function holding(options: Partial<RateLimiterOptions> = {}): Promise<DistantSetup> {
  const setup = leasing(options);
  for (let ms = 0; ms < 100 && held(setup) < 20; ms++) await busy(setup, 1, 1);
  expect(held(setup)).toBeGreaterThanOrEqual(20);
  return setup;
}

/** Tokens that a limiter has leased and neither spent nor given back. */
export function held({ limiter }: { limiter: RateLimiter }): number {
  const { leased, spent, returned } = limiter.stats().leases;
  return leased - spent - returned;
}

export function sources(decisions: readonly Decision[]): string[] {
  return [...new Set(decisions.map(({ source }) => source))];
}

export const wishOf = (call: TakeCall | undefined): number => call?.buckets[0]?.report?.wish ?? 0;

/** What the store has on its shelf. */
export async function onShelf(limiter: RateLimiter): Promise<number | undefined> {
  return (await limiter.peek("key")).policies[0]?.remaining;
}
