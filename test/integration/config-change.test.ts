import { keysUnder } from "@spillway/testkit";
import type { PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const WINDOWS = ["fixed-window", "sliding-window-counter", "sliding-window-log"] as const;
/** How long a policy of a minute takes to be as if unused. */
const fullAfterMs = (algorithm: string | undefined): number =>
  algorithm === "sliding-window-counter" ? 120_000 : 60_000;

/** Two deployments over the same keys. */
function deploy(before: PolicyOptions, after: PolicyOptions) {
  return [redis.limiter({ policies: before, lease: false }), redis.limiter({ policies: after, lease: false })] as const;
}

describe("C09: numbers of a policy change while its keys exist", () => {
  it("C09 a: a token bucket with plenty left is served at once under a higher rate", async () => {
    const [before, after] = deploy(
      { name: "p", limit: 10, period: "20s", burst: 16 },
      { name: "p", limit: 1000, period: "20s", burst: 16 },
    );
    for (let i = 0; i < 3; i++) await before.consume("k");
    const decision = await after.consume("k");
    expect(decision).toMatchObject({ allowed: true });
    // 12, and a token more for each 20 ms that a busy machine takes over it.
    expect(decision.remaining).toBeGreaterThanOrEqual(12);
  });

  it("C09 a: an empty token bucket refills at the higher rate at once", async () => {
    const [before, after] = deploy(
      { name: "p", limit: 1, period: "1h", burst: 5 },
      { name: "p", limit: 5, period: "1s", burst: 5 },
    );
    await before.consume("k", { cost: 5 });
    const refused = await after.consume("k", { cost: 2 });
    if (refused.allowed) throw new Error("admitted");
    expect(refused.retryAfterMs).toBeLessThanOrEqual(400);
    await new Promise((resolve) => setTimeout(resolve, refused.retryAfterMs + 5));
    expect(await after.consume("k", { cost: 2 })).toMatchObject({ allowed: true });
  });

  it.each(WINDOWS)("C09 b: a window that is used up serves at once under a higher limit (%s)", async (algorithm) => {
    const [before, after] = deploy(
      { name: "p", limit: 1, period: "100m", algorithm },
      { name: "p", limit: 10, period: "100m", algorithm },
    );
    await before.consume("k");
    expect(await before.consume("k")).toMatchObject({ allowed: false });
    expect(await after.consume("k")).toMatchObject({ allowed: true, remaining: 8 });
  });

  it.each([
    ["token bucket", undefined],
    ["fixed window", "fixed-window"],
    ["sliding window counter", "sliding-window-counter"],
    ["sliding window log", "sliding-window-log"],
  ] as const)(
    "C09 c: a lower burst counts at once, and no wait is longer than the new time to full (%s)",
    async (_, algorithm) => {
      const [before, after] = deploy(
        { name: "p", limit: 1000, period: "1h", ...(algorithm && { algorithm }) },
        { name: "p", limit: 10, period: "1m", ...(algorithm && { algorithm }) },
      );
      await before.consume("k", { cost: algorithm === undefined ? 100 : 5 });
      const first = await after.consume("k");
      expect(first).toMatchObject({ allowed: true });
      expect(first.remaining).toBeLessThanOrEqual(9);
      expect(first.resetAfterMs).toBeLessThanOrEqual(fullAfterMs(algorithm));
      const refused = await after.consume("k", { cost: 10 });
      if (refused.allowed) throw new Error("admitted");
      expect(refused.retryAfterMs).toBeLessThanOrEqual(fullAfterMs(algorithm));
    },
  );

  it.each(WINDOWS)(
    "C09 c: a window that was used far over a lower limit waits for its own end (%s)",
    async (algorithm) => {
      const [before, after] = deploy(
        { name: "p", limit: 1000, period: "1h", algorithm },
        { name: "p", limit: 10, period: "1m", algorithm },
      );
      await before.consume("k", { cost: 100 });
      const refused = await after.consume("k");
      if (refused.allowed) throw new Error("admitted");
      expect(refused.remaining).toBe(0);
      expect(refused.retryAfterMs).toBeLessThanOrEqual(fullAfterMs(algorithm));
      expect(refused.resetAfterMs).toBeLessThanOrEqual(fullAfterMs(algorithm));
    },
  );

  it("C09 d: another way of counting starts afresh under keys of its own", async () => {
    const five = { name: "p", limit: 5, period: "1h" } as const;
    const before = redis.limiter({ policies: five, lease: false });
    for (let i = 0; i < 6; i++) await before.consume("k");
    for (const algorithm of WINDOWS) {
      const after = redis.limiter({ policies: { ...five, algorithm }, lease: false });
      expect(await after.consume("k")).toMatchObject({ allowed: true, remaining: 4, source: "store" });
    }
    expect(await before.consume("k")).toMatchObject({ allowed: false });
    const keys = await keysUnder(redis.client, "spillway:");
    expect(keys).toEqual([...WINDOWS, "token-bucket"].map((algorithm) => `spillway:v1:{k}:p:${algorithm}`));
  });

  it.each(WINDOWS)(
    "old and new limits of a window that alternate call by call admit the larger one (%s)",
    async (algorithm) => {
      const [before, after] = deploy(
        { name: "p", limit: 7, period: "1h", algorithm },
        { name: "p", limit: 12, period: "1h", algorithm },
      );
      let admitted = 0;
      for (let i = 0; i < 60; i++) if ((await (i % 2 ? before : after).consume("k")).allowed) admitted++;
      expect(admitted).toBe(12);
    },
  );

  it("a log whose old and new periods alternate keeps to both of them", async () => {
    const [before, after] = deploy(
      { name: "p", limit: 12, period: "1h", algorithm: "sliding-window-log" },
      { name: "p", limit: 5, period: 50, algorithm: "sliding-window-log" },
    );
    let admitted = 0;
    for (let round = 0; round < 8; round++) {
      for (let i = 0; i < 3; i++) if ((await after.consume("k")).allowed) admitted++;
      await before.consume("k", { cost: 0 });
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    // The shorter policy knows nothing of the longer one's limit, but what it took counts for that.
    expect(admitted).toBe(24);
    expect((await before.peek("k")).policies[0]).toMatchObject({ remaining: 0 });
    expect(await before.consume("k")).toMatchObject({ allowed: false });
  });

  it("old and new numbers that alternate call by call admit no more than the larger burst and what comes in", async () => {
    const [before, after] = deploy(
      { name: "p", limit: 7, period: "49m", burst: 7 },
      { name: "p", limit: 10, period: "1h", burst: 12 },
    );
    let admitted = 0;
    for (let i = 0; i < 60; i++) if ((await (i % 2 ? before : after).consume("k")).allowed) admitted++;
    expect(admitted).toBeLessThanOrEqual(12);
    expect(admitted).toBeGreaterThanOrEqual(7);
  });
});
