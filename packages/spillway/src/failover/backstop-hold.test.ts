import { describe, expect, it } from "vitest";
import { SECOND_US } from "../algorithms/test-support.ts";
import type { PolicyOptions } from "../policy.ts";
import { BUCKET, BackstopProcess as Process, WINDOW } from "../testing/degrading/test-support.ts";

describe("a caller who is held to the share beside the store", () => {
  const held = (policies: PolicyOptions | PolicyOptions[] = BUCKET): Process =>
    new Process(policies, 1 / 2, "backstop", { decidedMs: 0 });

  it("is refused for want of room, and charged once when there is", () => {
    const process = held();
    expect(process.hold(0, 1)).toMatchObject({
      allowed: false,
      source: "backstop",
      degraded: true,
      retryAfterMs: 20,
      reason: "limited",
    });
    expect(process.hold(20_000, 1)).toBeUndefined();
    process.backstop.charge([1], process.buckets(0));
    expect(process.hold(20_000, 1)).toMatchObject({ allowed: false });
    expect(process.owed(20_000)).toEqual([0]);
  });

  it("may ask for what fits the policy though not the share, and for more than that, as far as the store can tell", () => {
    expect(held().hold(SECOND_US, 15)).toMatchObject({ allowed: false, reason: "limited", retryAfterMs: 1000 });
    expect(held().hold(SECOND_US, 21)).toBeUndefined();
  });

  it("is held by policies whose share decides in an outage, and by no others", () => {
    const modes = (["open", "closed"] as const).map((onStoreFailure) => ({
      ...BUCKET,
      name: onStoreFailure,
      onStoreFailure,
    }));
    const process = held([...modes, BUCKET]);
    expect(process.hold(0, 1, 1, 0)).toBeUndefined();
    expect(process.hold(0, 1, 1, 1)).toMatchObject({ policy: "bucket" });
    process.backstop.charge([5, 5, 5], process.buckets(0));
    expect(process.hold(0, 5, 5, 0)).toBeUndefined();
  });

  it("keeps its place while it waits: what fills the share meanwhile and what comes back are no more than it holds", () => {
    const process = held();
    process.hold(SECOND_US, 10);
    process.backstop.reserve([10], process.buckets(0), 3 * SECOND_US);
    process.hold(2 * SECOND_US, 1);
    expect(process.drain([2 * SECOND_US])).toBe(0);
    process.backstop.settle([10], process.buckets(0), false);
    expect(process.drain([2 * SECOND_US])).toBe(10);
  });

  it("has its tokens spent, or finds them spent when nobody said what came of it", () => {
    const spent = held();
    spent.hold(SECOND_US, 10);
    spent.backstop.reserve([10], spent.buckets(0), 3 * SECOND_US);
    spent.backstop.settle([10], spent.buckets(0), true);
    expect(spent.drain([SECOND_US, 1_100_000])).toBe(5);
    const lost = held();
    lost.hold(SECOND_US, 10);
    lost.backstop.reserve([10], lost.buckets(0), 1_100_000);
    expect(lost.drain([1_100_000, 1_200_000])).toBe(5);
    lost.backstop.settle([10], lost.buckets(0), false);
    expect(lost.drain([1_200_000])).toBe(0);
  });

  it("is charged in a window, and gets it back there", () => {
    const process = held(WINDOW);
    process.backstop.reserve([20], process.buckets(0), SECOND_US);
    expect(process.hold(0, 11)).toMatchObject({ allowed: false });
    process.backstop.settle([20], process.buckets(0), false);
    expect(process.hold(0, 11)).toBeUndefined();
  });
});
