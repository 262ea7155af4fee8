import { describe, expect, it } from "vitest";
import { type PolicyOptions, resolvePolicy } from "../policy.ts";
import {
  clockToleranceMs,
  drainMs,
  escrowLifeMs,
  feedsWish,
  settleAfterMs,
  spendLifeMs,
  watermarkOf,
  wishOf,
} from "./lease-budget.ts";

function drainOf(options: Partial<PolicyOptions>, maxDrainMs = 50): number | undefined {
  return drainMs(resolvePolicy({ name: "a", limit: 1000, period: "1s", ...options }, "policy"), maxDrainMs);
}

describe("the drain time of a lease", () => {
  it.each([
    ["half the time in which the bucket fills", { burst: 60 }, 30],
    ["at most what the limiter was told", { burst: 200 }, 50],
    ["at least 5 ms", { burst: 10 }, 5],
    ["the same for the same rate in other words", { limit: 60_000, period: "1m", burst: 60 }, 30],
    ["longer for a slow policy, up to the most", { limit: 1, period: "1s", burst: 3 }, 50],
    ["half a short window", { period: 60, algorithm: "fixed-window" }, 30],
    ["at most what the limiter was told of a long one", { limit: 20, period: "1d", algorithm: "fixed-window" }, 50],
    ["the same of a sliding counter", { limit: 20, period: "1d", algorithm: "sliding-window-counter" }, 50],
  ] as const)("is %s", (_, options, expected) => expect(drainOf(options)).toBe(expected));

  it("is longer where the limiter was told so", () => expect(drainOf({ burst: 1000 }, 100)).toBe(100));

  it.each([
    ["a bucket that fills in less than 10 ms", { burst: 9 }],
    ["a window of less than 10 ms", { algorithm: "fixed-window", period: 9 }],
    ["a window of fewer than 20 tokens", { algorithm: "sliding-window-counter", limit: 19, period: "1d" }],
    ["a log", { algorithm: "sliding-window-log" }],
  ] as const)("does not exist for %s: it is asked of the store each time", (_, options) =>
    expect(drainOf(options)).toBeUndefined(),
  );
});

describe("the life of a lease", () => {
  it("is two drain times in the store, of which its holder spends it in three quarters", () => {
    expect(escrowLifeMs(50)).toBe(100);
    expect(spendLifeMs(100)).toBe(75);
  });

  it("leaves a silent holder time to settle before its tokens are too old to spend", () => {
    expect(settleAfterMs(50)).toBe(40);
    expect(settleAfterMs(50)).toBeLessThan(spendLifeMs(escrowLifeMs(50)));
  });

  it("bears clocks that part by no more than what the holder does not spend of it, and 2 ms", () => {
    expect(clockToleranceMs(100)).toBe(27);
  });
});

describe("what is wished for", () => {
  it.each([
    [0, 0, 0],
    [5.9, 0, 0],
    [6, 0, 3],
    [101, 0, 50],
    [101, 20, 30],
    [101, 50, 0],
    [101, 90, 0],
    [5.9, 2, 0],
  ])("of a demand of %d in two drain times, %d in hand, is %d", (weight, held, expected) =>
    expect(wishOf(weight, held)).toBe(expected),
  );

  it.each([
    [1, 1, true],
    [0, 1, true],
    [2, 31, false],
    [2, 32, true],
    [3, 32, false],
    [12, 200, true],
    [13, 200, false],
  ])("a cost of %d of a burst of %d feeds it: %s", (cost, capacity, expected) =>
    expect(feedsWish(cost, capacity)).toBe(expected),
  );
});

describe("the watermark", () => {
  it.each([
    ["what goes in one and a half round trips", 100, 2, 3],
    ["rounded up", 100, 2.1, 4],
    ["nothing where the store answers at once", 100, 0, 0],
    ["at most half of what is wished for", 100, 1000, 25],
    ["nothing where little is wished for", 3, 1000, 0],
  ])("is %s", (_, weight, roundTripMs, expected) => expect(watermarkOf(weight, 50, roundTripMs)).toBe(expected));
});
