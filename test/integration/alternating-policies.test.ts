import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@spillway/testkit";
import { createRateLimiter, memoryStore, type PolicyOptions, type RateLimiter, type Store } from "spillway";
import { describe, expect, it } from "vitest";
import type { Span } from "../chaos/admissions.ts";
import { mostInAnyWindow } from "../chaos/window-maximum.ts";
import { PATIENT_MS, redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

interface Load {
  /** Of leases. */
  readonly maxDrainMs: number;
  readonly forMs: number;
  /** Each limiter asks up to so many times at once, with pauses of up to so long between. */
  readonly atOnce: number;
  readonly pauseMs: number;
}

const FAST: Load = { maxDrainMs: 50, forMs: 1200, atOnce: 4, pauseMs: 4 };
/** Just above what a bucket lets in, by leases that live for a second. */
const SLOW: Load = { maxDrainMs: 500, forMs: 2000, atOnce: 1, pauseMs: 24 };
/** Longer than any holder keeps tokens that nobody asks it for, on a busy machine too. */
const SILENCE = { withinMs: 6000 };
const KEY = "k";

type Kind = "redis" | "memory";
/** The old and the new policy. */
type Pair = readonly [PolicyOptions, PolicyOptions];

/** The memory store as if it were elsewhere: what this process asks of it directly is not leased. */
function distant(store: Store): Store {
  const far = async <T>(answer: () => Promise<T>): Promise<T> => {
    await new Promise((resolve) => setImmediate(resolve));
    return await answer();
  };
  return {
    name: "distant",
    take: (call) => far(() => store.take(call)),
    peek: (addresses) => far(() => store.peek(addresses)),
    adjust: (adjustments) => far(() => store.adjust(adjustments)),
    reset: (addresses) => far(() => store.reset(addresses)),
    block: (addresses, durationUs) => far(() => store.block(addresses, durationUs)),
    close: async () => {},
  };
}

/** What makes limiters that share one store. */
function opener(kind: Kind): (policies: () => PolicyOptions, maxDrainMs?: number | false) => RateLimiter {
  const shared = memoryStore();
  return (policies, maxDrainMs = false) => {
    const lease = maxDrainMs === false ? (false as const) : { maxDrainMs };
    const options = { policies, lease, deadlineMs: PATIENT_MS, onStateChange: () => {} };
    if (kind === "redis") return redis.limiter(options);
    const limiter = createRateLimiter({ ...options, store: distant(shared) });
    redis.afterwards(() => limiter.close());
    return limiter;
  };
}

interface Outcome {
  readonly admissions: readonly Span[];
  readonly asked: number;
  /** How many of them were spent from a lease. */
  readonly leased: number;
  readonly limiters: readonly RateLimiter[];
  /** How a bucket stands, seen under the old policy or the new one. */
  remaining(which: 0 | 1): Promise<number>;
}

/**
 * Four limiters ask for more than there is: one by the old policy, one by the new, one that changes every 40 ms, one at each request.
 */
async function play(kind: Kind, pair: Pair, { maxDrainMs, forMs, atOnce, pauseMs }: Load = FAST): Promise<Outcome> {
  const open = opener(kind);
  let turn = 0;
  let asked = 0;
  const choices = [() => 0, () => 1, () => Math.floor(performance.now() / 40) % 2, () => turn++ % 2];
  const limiters = choices.map((choose) => open(() => pair[choose() as 0 | 1], maxDrainMs));
  const admissions: Span[] = [];
  let leased = 0;
  const consume = async (limiter: RateLimiter): Promise<void> => {
    asked++;
    const fromMs = performance.now();
    const decision = limiter.consumeNow(KEY) ?? (await limiter.consume(KEY));
    expect(decision.degraded).toBe(false);
    if (!decision.allowed) return;
    admissions.push({ fromMs, toMs: performance.now() });
    if (decision.source === "lease") leased++;
  };
  const endMs = performance.now() + forMs;
  const ask = async (limiter: RateLimiter): Promise<void> => {
    while (performance.now() < endMs) {
      await Promise.all(Array.from({ length: 1 + Math.floor(atOnce * Math.random()) }, () => consume(limiter)));
      await sleep(pauseMs * Math.random());
    }
  };
  await Promise.all(limiters.map(ask));
  const watchers = pair.map((policy) => open(() => policy));
  const remaining = async (which: 0 | 1): Promise<number> => {
    const state = await (watchers[which] as RateLimiter).peek(KEY);
    return state.policies[0]?.remaining ?? Number.NaN;
  };
  return { admissions, asked, leased, limiters, remaining };
}

function heldBy(limiters: readonly RateLimiter[]): number {
  return limiters.reduce((sum, limiter) => {
    const { leased, spent, returned } = limiter.stats().leases;
    return sum + leased - spent - returned;
  }, 0);
}

describe.each<Kind>(["redis", "memory"])("policies that alternate while tokens are on lease (%s)", (kind) => {
  it.each(["fixed-window", "sliding-window-counter"] as const)(
    "60 and 100 a minute of a %s: 100 go in, and what fell silent gave back all that it held",
    { timeout: 30_000 },
    async (algorithm) => {
      const pair: Pair = [
        { name: "p", limit: 60, period: "1m", algorithm },
        { name: "p", limit: 100, period: "1m", algorithm },
      ];
      const { admissions, leased, limiters, remaining } = await play(kind, pair, SLOW);
      expect(admissions.length).toBeLessThanOrEqual(100);
      expect(leased).toBeGreaterThan(0);
      await eventually(() => heldBy(limiters) === 0, SILENCE);
      await eventually(async () => admissions.length + (await remaining(1)) === 100, SILENCE);
      // Nobody was kept from what there was.
      expect(admissions.length).toBeGreaterThanOrEqual(95);
    },
  );

  it.each<[string, Pair, Load]>([
    [
      "100 a second and 200 a second",
      [
        { name: "p", limit: 100, period: "1s", burst: 200 },
        { name: "p", limit: 200, period: "1s", burst: 400 },
      ],
      SLOW,
    ],
    [
      "500 a second and 300 in 0.2 s",
      [
        { name: "p", limit: 500, period: "1s", burst: 200 },
        { name: "p", limit: 300, period: 200, burst: 100 },
      ],
      FAST,
    ],
  ])(
    "buckets of %s: never more than the larger rate and burst, and full again at rest",
    {
      timeout: 30_000,
    },
    async (_, pair, load) => {
      const { admissions, asked, leased, limiters, remaining } = await play(kind, pair, load);
      const rates = pair.map(({ limit, period }) => limit / (period === "1s" ? 1000 : (period as number)));
      const bursts = pair.map(({ burst = 0 }) => burst);
      expect(mostInAnyWindow(admissions, Math.max(...rates))).toBeLessThanOrEqual(Math.max(...bursts) + 1e-6);
      // The lesser of both is the least that comes in.
      const least = Math.min(asked, Math.min(...bursts) + Math.min(...rates) * load.forMs);
      expect(admissions.length).toBeGreaterThan(0.8 * least);
      expect(leased).toBeGreaterThan(0);
      for (const which of [0, 1] as const) {
        const full = bursts[which] as number;
        await eventually(async () => (await remaining(which)) === full, SILENCE);
      }
      expect(heldBy(limiters)).toBe(0);
    },
  );

  it.each(["fixed-window", "sliding-window-counter"] as const)(
    "periods of a %s: no window of the shorter one holds more than the larger limit and what was on lease, and each opens",
    { timeout: 30_000 },
    async (algorithm) => {
      const pair: Pair = [
        { name: "p", limit: 60, period: 100, algorithm },
        { name: "p", limit: 100, period: 250, algorithm },
      ];
      const { admissions, asked, leased, limiters, remaining } = await play(kind, pair);
      // Two windows around an edge; of each, and of what the longer policy had on lease when it ended, no more than its limit.
      expect(mostInAnyWindow(admissions, 2 * (100 / 100))).toBeLessThanOrEqual(2 * (100 + 100));
      expect(admissions.length).toBeGreaterThan(Math.min(asked, (60 * FAST.forMs) / 250) / 2);
      expect(leased).toBeGreaterThan(0);
      await eventually(() => heldBy(limiters) === 0, SILENCE);
      await eventually(async () => (await remaining(0)) === 60 && (await remaining(1)) === 100, SILENCE);
      // A refusal is remembered for as long as it told, though the shorter policy ends the window before.
      for (const limiter of limiters) await eventually(async () => (await limiter.consume(KEY)).allowed, SILENCE);
    },
  );
});
