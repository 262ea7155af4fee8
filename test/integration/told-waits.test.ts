import { setTimeout as sleep } from "node:timers/promises";
import type { RateLimiterOptions, RefusedDecision } from "spillway";
import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const TRIES = 50;

/** No earlier than `ms` from now, which a timer alone does not promise. */
async function exactly(ms: number): Promise<void> {
  const until = performance.now() + ms;
  await sleep(Math.max(0, ms - 3));
  while (performance.now() < until);
}

const bucket = { name: "bucket", limit: 100, period: "1s", burst: 20 } as const;
const window = { name: "window", limit: 4, period: 20, algorithm: "fixed-window" } as const;
const aligned = { name: "aligned", limit: 4, period: 20, algorithm: "fixed-window", windowStart: "aligned" } as const;

const counter = { name: "counter", limit: 4, period: 20, algorithm: "sliding-window-counter" } as const;
const log = { name: "log", limit: 4, period: 20, algorithm: "sliding-window-log" } as const;

const LIMITERS: readonly (readonly [string, Omit<RateLimiterOptions, "store">])[] = [
  ["a token bucket", { policies: bucket, lease: false }],
  ["a token bucket with leases", { policies: bucket }],
  ["a large token bucket with leases", { policies: { name: "large", limit: 700, period: "1s", burst: 200 } }],
  ["a fixed window", { policies: window }],
  ["an aligned window", { policies: aligned }],
  ["a sliding window counter", { policies: counter }],
  ["a sliding window log", { policies: log }],
  ["several policies", { policies: [bucket, window], lease: false }],
  ["policies of each kind", { policies: [bucket, window, counter, log] }],
];

it.each(LIMITERS)("C04 d: a caller who comes back when told, alone, is admitted each time (%s)", async (_, options) => {
  const limiter = redis.limiter(options);
  const broken: unknown[] = [];
  for (let i = 0; i < TRIES; i++) {
    const cost = 1 + (i % 3);
    const refused = await untilRefused(() => limiter.consume("k", { cost }));
    await exactly(refused.retryAfterMs);
    const again = await limiter.consume("k", { cost });
    if (!again.allowed) broken.push({ told: refused.retryAfterMs, left: again.retryAfterMs, source: refused.source });
  }
  expect(broken).toEqual([]);
});

async function untilRefused(
  ask: () => ReturnType<ReturnType<typeof redis.limiter>["consume"]>,
): Promise<RefusedDecision> {
  for (let asked = 0; asked < 10_000; asked++) {
    const decision = await ask();
    if (!decision.allowed) return decision;
  }
  throw new Error("Nobody was refused in 10,000 asks.");
}
