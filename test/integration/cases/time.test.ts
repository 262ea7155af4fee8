import type { Decision, PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import { ALGORITHMS, type Algorithm, EACH, notFor, openScenes, PERIODS_TO_FULL, policyOf, STORES } from "./scene.ts";

const { open } = openScenes();
const DAY_MS = 86_400_000;

/** In memory time is counted by what passed, so only there can a wall clock do what C02 tells of the store's. */
describe("C02: a wall clock that goes back two days and forward again locks nobody out of memory", () => {
  it.each([...ALGORITHMS, "aligned" as const])("%s", async (kind) => {
    const { clock, limiter: make, pass } = await open("memory");
    const [algorithm, start] =
      kind === "aligned" ? (["fixed-window", { windowStart: "aligned" }] as const) : ([kind, {}] as const);
    const period = 10_000 / PERIODS_TO_FULL[algorithm];
    const limiter = make({ ...policyOf(algorithm, { period }), ...start });
    const sane = (decision: Decision): Decision => {
      expect(decision.remaining).toBeGreaterThanOrEqual(0);
      expect(decision.remaining).toBeLessThanOrEqual(10);
      expect(decision.resetAfterMs).toBeGreaterThanOrEqual(0);
      expect(decision.resetAfterMs).toBeLessThanOrEqual(10_000);
      if (!decision.allowed) expect(decision.retryAfterMs).toBeLessThanOrEqual(10_000);
      return decision;
    };
    for (let i = 0; i < 3; i++) expect(sane(await limiter.consume("k")).remaining).toBe(9 - i);
    clock.stepWall(-2 * DAY_MS);
    expect(sane(await limiter.consume("k")).allowed).toBe(true);
    clock.stepWall(2 * DAY_MS);
    await pass(1000);
    expect(sane(await limiter.consume("k")).allowed).toBe(true);
    let more = 0;
    for (let i = 0; i < 20; i++) if (sane(await limiter.consume("k")).allowed) more++;
    // Of the ten, five were taken; no step of the clock has given any back beyond what a second brings.
    expect(more).toBeGreaterThanOrEqual(1);
    expect(more).toBeLessThanOrEqual(6);
    await pass(10_000);
    expect(await limiter.consume("k", { cost: 10 })).toMatchObject({ allowed: true });
  });
});

describe("C03 c: around the instant at which a bucket is as if unused, no more is admitted than its bound", () => {
  it.each(EACH)("$algorithm, $store", async ({ store, algorithm }) => {
    const { limiter: make, pass } = await open(store);
    // Each asks for itself: what one remembers of a refusal is no matter.
    const limiters = Array.from({ length: 8 }, () => make(policyOf(algorithm, { limit: 5, period: 50 })));
    const at: { ms: number; tokens: number }[] = [];
    let nowMs = 0;
    for (let round = 0; round < 10; round++) {
      const quarters = Array<number>(4 * PERIODS_TO_FULL[algorithm] - 1).fill(12.5);
      for (const stepMs of [0, ...quarters, 12.497, 0.001, 0.001, 0.001, 0.001, 2]) {
        await pass(stepMs);
        nowMs += stepMs;
        const decisions = await Promise.all(limiters.map((limiter) => limiter.consume("k")));
        at.push({ ms: nowMs, tokens: decisions.filter(({ allowed }) => allowed).length });
      }
    }
    const bound: Readonly<Record<Algorithm, (periods: number) => number>> = {
      "token-bucket": (periods) => 5 * (1 + periods),
      "fixed-window": (periods) => 5 * (1 + Math.ceil(periods)),
      "sliding-window-counter": (periods) => 5 * (1 + periods),
      "sliding-window-log": (periods) => 5 * Math.ceil(periods + 1e-9),
    };
    let most = 0;
    for (const [from, { ms }] of at.entries()) {
      let sum = 0;
      for (const later of at.slice(from)) {
        sum += later.tokens;
        const periods = (later.ms - ms) / 50;
        if (later.tokens > 0) expect(sum, `${periods} periods`).toBeLessThanOrEqual(bound[algorithm](periods) + 1e-6);
        most = Math.max(most, sum);
      }
    }
    // Everything that comes back is used: five in each round at least.
    expect(most).toBeGreaterThanOrEqual(50);
  });
});

describe("C08 b: 10 per 100 ms, one request each 5 ms for 3 s", () => {
  const OFFERED = 600;
  const rows = EACH.flatMap((row) => [
    { ...row, lease: false as const, leases: "exact" },
    { ...row, lease: {}, leases: "leases on" },
  ]);
  it.each(rows)("is admitted evenly, and told waits within the period ($algorithm, $store, $leases)", async (row) => {
    const { limiter: make, pass } = await open(row.store);
    const limiter = make(policyOf(row.algorithm, { period: 100 }), { lease: row.lease });
    const slices: number[] = [];
    for (let i = 0; i < OFFERED; i++) {
      const decision = limiter.consumeNow("k") ?? (await limiter.consume("k"));
      const slice = Math.floor((5 * i) / 100);
      slices[slice] = (slices[slice] ?? 0) + (decision.allowed ? 1 : 0);
      if (!decision.allowed) {
        expect(decision.retryAfterMs).toBeGreaterThan(0);
        expect(decision.retryAfterMs).toBeLessThanOrEqual(100 * PERIODS_TO_FULL[row.algorithm]);
      }
      await pass(5);
    }
    // The first slice has the burst as well.
    expect(slices[0]).toBeLessThanOrEqual(20);
    for (const [slice, count] of slices.slice(1).entries()) {
      expect(count, `slice ${slice + 1} of ${slices}`).toBeLessThanOrEqual(12);
      expect(count, `slice ${slice + 1} of ${slices}`).toBeGreaterThanOrEqual(6);
    }
    const total = slices.reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThanOrEqual(0.9 * 300);
    expect(total).toBeLessThanOrEqual(310);
  });

  it.each(STORES)("and so is 100 per second with a burst of 1, which is never above its rate (%s)", async (store) => {
    const { limiter: make, pass } = await open(store);
    const policy: PolicyOptions = { name: "hundred", limit: 100, period: "1s", burst: 1 };
    const limiter = make(policy, { lease: {} });
    const slices: number[] = [];
    for (let i = 0; i < OFFERED; i++) {
      const slice = Math.floor((5 * i) / 100);
      const { allowed } = limiter.consumeNow("k") ?? (await limiter.consume("k"));
      slices[slice] = (slices[slice] ?? 0) + (allowed ? 1 : 0);
      await pass(5);
    }
    expect(slices).toEqual(Array(30).fill(10));
  });
});

notFor([
  ["C01 in memory", "no script turns a time into text there; memory-store.test.ts holds its digits (b)"],
  ["C02 on Redis", "clock.test.ts moves the server's clock, and writes values that are ahead of it"],
  ["C03 a, b in memory", "nothing expires there: maxKeys bounds it, and what was used longest ago is dropped"],
]);
