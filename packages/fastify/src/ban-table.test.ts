import type { RefusedDecision } from "spillway";
import { describe, expect, it } from "vitest";
import { BanTable } from "./ban-table.ts";

const status = {
  policy: "a",
  limit: 1,
  periodMs: 1000,
  remaining: 0,
  refillAfterMs: 9,
  resetAfterMs: 9,
  retryAfterMs: 9,
};
const refusal: RefusedDecision = {
  ...{
    allowed: false,
    reason: "limited",
    retryAfterMs: 9,
    key: "k",
    costs: [1, 1],
    policy: "a",
    limit: 1,
    remaining: 0,
  },
  ...{ resetAfterMs: 9, source: "store", degraded: false },
  policies: [status, { ...status, policy: "b", remaining: 5, retryAfterMs: 0 }],
};

describe("the table of bans", () => {
  it("counts refusals within a time, from the first", () => {
    const bans = new BanTable({ after: 3, withinMs: 100, forMs: 50 });
    expect([0, 99].map((nowMs) => bans.note("k", refusal, nowMs).reason)).toEqual(["limited", "limited"]);
    expect(bans.note("k", refusal, 100).reason).toBe("limited");
    expect(bans.note("k", refusal, 150).reason).toBe("limited");
    expect(bans.find("k", 150)).toBeUndefined();
    expect(bans.note("k", refusal, 199)).toMatchObject({ reason: "blocked", retryAfterMs: 50 });
    expect(bans.find("k", 248)).toMatchObject({ reason: "blocked", retryAfterMs: 1 });
    expect(bans.find("k", 249)).toBeUndefined();
    expect(bans.size).toBe(0);
  });

  it("gives the wait of the ban to the policies that refused, and to no other", () => {
    const { policies } = new BanTable({ after: 1, forMs: 50 }).note("k", refusal, 0);
    expect(policies).toMatchObject([
      { policy: "a", refillAfterMs: 50, retryAfterMs: 50 },
      { policy: "b", remaining: 5, retryAfterMs: 0 },
    ]);
  });

  it("does not grow above its bound; the oldest is forgotten", () => {
    const bans = new BanTable({ after: 1, maxKeys: 100 });
    for (let n = 0; n < 1000; n++) bans.note(`k${n}`, refusal, n);
    expect(bans.size).toBe(100);
    expect([bans.find("k899", 1000), bans.find("k900", 1000)?.reason]).toEqual([undefined, "blocked"]);
  });
});
