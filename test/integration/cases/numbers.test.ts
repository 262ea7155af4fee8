import { type Cost, createRateLimiter, type PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import {
  ALGORITHMS,
  type Algorithm,
  admitted,
  admittedOf,
  EACH,
  notFor,
  openScenes,
  PERIODS_TO_FULL,
  policyOf,
  remainingOf,
} from "./scene.ts";

const { open, redis } = openScenes();

const BAD_COSTS: readonly (readonly [unknown, typeof RangeError | typeof TypeError])[] = [
  ...[-1, -0, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53].map((cost) => [cost, RangeError] as const),
  ...["1", null, undefined, 1n, true].map((cost) => [cost, TypeError] as const),
  [{ any: -1 }, RangeError],
  [{ any: Number.NaN }, RangeError],
  [{ any: "1" }, TypeError],
  [{ other: 1 }, TypeError],
];

describe.each(EACH)("$algorithm, $store", ({ store, algorithm }) => {
  it("C07: a cost that is no whole number from 0 is an error before any call, and nothing is taken", async () => {
    const { limiter: make } = await open(store);
    const limiter = make(policyOf(algorithm, { limit: 5 }));
    await limiter.consume("k", { cost: 3 });
    const callsBefore = limiter.stats().storeCalls;
    for (const [cost, kind] of BAD_COSTS) {
      await expect(limiter.consume("k", { cost: cost as Cost }), String(cost)).rejects.toThrow(kind);
      expect(() => limiter.consumeNow("k", { cost: cost as Cost }), String(cost)).toThrow(kind);
      const joint = limiter.consume([{ policy: "any", key: "k", cost: cost as number }]);
      await expect(joint, `${String(cost)} of a part`).rejects.toThrow();
    }
    expect(limiter.stats().storeCalls).toBe(callsBefore);
    expect(await remainingOf(limiter)).toEqual([2]);
  });

  it("C07: cost 0 changes nothing and is admitted, on a bucket that is used up too", async () => {
    const { limiter: make } = await open(store);
    const limiter = make(policyOf(algorithm, { limit: 5 }));
    expect(await admitted(limiter, 3, 0, 2, 0, 1, 0)).toEqual([true, true, true, true, false, true]);
    expect(await remainingOf(limiter)).toEqual([0]);
  });

  it("C09 a, b: a higher limit counts at once, whatever was used", async () => {
    const { limiter: make } = await open(store);
    const [before, after] = [10, 1000].map((limit) => make(policyOf(algorithm, { limit, period: "20s" })));
    expect(await admitted(before as typeof before & {}, 3)).toEqual([true]);
    const left = { "token-bucket": 6 } as Partial<Record<Algorithm, number>>;
    // A burst that was raised adds nothing to a bucket; a window has all of the new limit but what was used.
    expect(await after?.consume("k")).toMatchObject({ allowed: true, remaining: left[algorithm] ?? 996 });
  });

  it("C09 b: one that was used up serves again as soon as the new limit can", async () => {
    const { limiter: make, pass } = await open(store);
    const [before, after] = [1, 10].map((limit) => make(policyOf(algorithm, { limit, period: "100m" })));
    expect(await admittedOf(before as typeof before & {}, 2)).toBe(1);
    if (algorithm === "token-bucket") {
      // The token that was there is spent; at the new rate the next one comes in ten minutes, at the old in a hundred.
      expect(await after?.consume("k")).toMatchObject({ allowed: false, retryAfterMs: 600_000 });
      await pass(600_000);
    }
    expect(await after?.consume("k")).toMatchObject({ allowed: true });
  });

  it("C09 c: a lower limit counts at once, and no wait is longer than it takes to fill under it", async () => {
    const { limiter: make } = await open(store);
    const before = make(policyOf(algorithm, { limit: 1000, period: "1h" }));
    const after = make(policyOf(algorithm, { limit: 10, period: "1m" }));
    // The counter's window is read as of the new period, so what was used in it is used.
    await before.consume("k", { cost: algorithm === "token-bucket" ? 100 : 5 });
    const first = await after.consume("k");
    expect(first.allowed).toBe(true);
    expect(first.remaining).toBeLessThanOrEqual(9);
    const refused = await after.consume("k", { cost: 10 });
    if (refused.allowed) throw new Error("admitted");
    const longestMs = 60_000 * PERIODS_TO_FULL[algorithm];
    for (const ms of [first.resetAfterMs, refused.resetAfterMs, refused.retryAfterMs])
      expect(ms).toBeLessThanOrEqual(longestMs);
  });

  it("C09 d: another way of counting under the same name starts afresh, and both go on beside each other", async () => {
    const { limiter: make } = await open(store);
    const before = make(policyOf(algorithm));
    expect(await admittedOf(before, 11)).toBe(10);
    for (const other of ALGORITHMS.filter((name) => name !== algorithm)) {
      const after = make(policyOf(other));
      expect(await remainingOf(after)).toEqual([10]);
      expect(await admitted(after, 4)).toEqual([true]);
      expect(await remainingOf(after)).toEqual([6]);
    }
    expect(await remainingOf(before)).toEqual([0]);
  });

  it("C09, a rolling deploy: old and new limits that alternate call by call admit the larger one and no more", async () => {
    const { limiter: make } = await open(store);
    const both = [7, 12].map((limit) => make(policyOf(algorithm, { limit, period: "1h" })));
    let count = 0;
    for (let i = 0; i < 60; i++) if ((await both[i % 2]?.consume("k"))?.allowed) count++;
    // A bucket is full at the smaller burst after the first call under it, and is not made fuller by the larger.
    expect(count).toBe(algorithm === "token-bucket" ? 7 : 12);
  });
});

describe("C07: a number of a policy that would open the gate is refused where the limiter is made, and named", () => {
  const sound = { name: "any", limit: 5, period: "1s" } as const;
  const bad = [
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "100", null, undefined, 1n].map((limit) => ({ limit })),
    ...[0, -5, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "soon", "1", 1n, null].map((period) => ({ period })),
  ];
  const rows = ALGORITHMS.flatMap((algorithm) => bad.map((change) => ({ algorithm, change })));
  it.each(rows.map((row) => ({ ...row, shown: showOf(row.change) })))("$algorithm, $shown", ({ algorithm, change }) => {
    const [option] = Object.keys(change);
    expect(() => createRateLimiter({ policies: { ...sound, algorithm, ...change } as PolicyOptions })).toThrow(
      expect.objectContaining({
        code: "ERR_SPILLWAY_INVALID_OPTION",
        message: expect.stringContaining(`policies.${option}`),
      }),
    );
  });

  it.each(ALGORITHMS)(
    "a function of the key that returns NaN ends in an error, never in unlimited (%s)",
    async (name) => {
      const limiter = redis.limiter({ policies: () => ({ ...sound, algorithm: name, limit: Number.NaN }) });
      await expect(limiter.consume("k")).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
      expect(() => limiter.consumeNow("k")).toThrow(/limit/);
    },
  );
});

function showOf(change: object): string {
  const [name, value] = Object.entries(change)[0] as [string, unknown];
  return `${name} ${typeof value === "string" ? JSON.stringify(value) : String(value)}`;
}

notFor([
  ["C07, burst", "windows have none, and refuse the option; bad-numbers.test.ts has a token bucket's"],
  ["C07, limit 0", "there is no policy that always refuses: block() is for that"],
]);
