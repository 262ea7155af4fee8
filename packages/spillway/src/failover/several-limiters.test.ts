import { describe, expect, it } from "vitest";
import type { Adjustment } from "../stores/store.ts";
import {
  DEADLINE_MS,
  DISTANT_BUCKET,
  type DistantSetup,
  distantLimiter,
  limiterBeside,
  loseStore,
  passTime,
  probe,
  settled,
} from "../testing/test-support.ts";
import { holdMs } from "./common-return.ts";

/** How many of 1 go in now without the store. */
function admitted({ limiter }: DistantSetup, key = "key"): number {
  for (let n = 0; ; n++) if (limiter.consumeNow(key)?.allowed !== true) return n;
}

/** The policy is 10 a second with a burst of 100. */
describe("limiters of one process over one store", () => {
  it("have one share between them, though each has policies of its own", async () => {
    const one = distantLimiter();
    const other = limiterBeside(one);
    await loseStore(one);
    await loseStore(other);
    expect([admitted(one), admitted(other)]).toEqual([100, 0]);
    await passTime(one, 1000);
    expect([admitted(other), admitted(one)]).toEqual([10, 0]);
  });

  it("do not get another one from asking in turn with other numbers, or in another mode", async () => {
    const one = distantLimiter();
    const others = [
      limiterBeside(one, { policies: { ...DISTANT_BUCKET, burst: 50 } }),
      limiterBeside(one, { policies: { ...DISTANT_BUCKET, onStoreFailure: "closed" } }),
    ];
    for (const each of [one, ...others]) await loseStore(each);
    expect(admitted(one)).toBe(100);
    for (let i = 0; i < 5; i++) for (const each of [...others, one]) expect(admitted(each)).toBe(0);
    await passTime(one, 1000);
    expect(admitted(others[1] as DistantSetup)).toBe(0);
    expect(admitted(one)).toBeLessThanOrEqual(10);
  });

  it("keep it until the last of them is back", async () => {
    const one = distantLimiter();
    const other = limiterBeside(one);
    await loseStore(one);
    await loseStore(other);
    expect(admitted(one)).toBe(100);
    await passTime(one, 2000);
    expect(admitted(one)).toBe(20);
    const drainedMs = one.clock.monotonicMs();
    // Only one of the two gets answers.
    (await probe(one)).answer();
    await settled();
    const back = [one, other].find(({ limiter }) => limiter.consumeNow("trial") === undefined) as DistantSetup;
    const trial = back.limiter.consume("trial");
    await settled();
    back.store.held.at(-1)?.answer();
    expect((await trial).source).toBe("store");
    await passTime(one, holdMs(Number.POSITIVE_INFINITY, DEADLINE_MS) + 1000);
    const away = back === one ? other : one;
    const left = admitted(away);
    expect(left).toBe(Math.floor((one.clock.monotonicMs() - drainedMs) / 100));
  });
});

describe("what went in without the store", () => {
  it("is told when a limiter is closed, for the store may be back by then", async () => {
    const all = distantLimiter();
    const told: Adjustment[] = [];
    all.store.adjust = async (adjustments) => {
      told.push(...adjustments);
      return { nowUs: 0, buckets: [] };
    };
    await loseStore(all);
    expect(admitted(all)).toBe(100);
    await all.limiter.close();
    expect(told.filter(({ key }) => key === "key")).toMatchObject([{ tokens: -100 }]);
  });

  it("is not lost when one of several limiters is closed while the store is away", async () => {
    const one = distantLimiter();
    const other = limiterBeside(one);
    const told: Adjustment[] = [];
    one.store.adjust = async (adjustments) => {
      if (one.store.holds) throw new Error("away");
      told.push(...adjustments);
      return { nowUs: 0, buckets: [] };
    };
    await loseStore(one);
    await loseStore(other);
    expect(admitted(other)).toBe(100);
    await one.limiter.close();
    const sent = await probe(other);
    one.store.holds = false;
    sent.answer();
    await settled();
    expect(told.filter(({ key }) => key === "key")).toMatchObject([{ tokens: -100 }]);
  });

  it("does not keep a limiter from closing while the store is still away", async () => {
    const all = distantLimiter();
    all.store.adjust = () => new Promise(() => {});
    await loseStore(all);
    expect(admitted(all)).toBe(100);
    const closed = all.limiter.close();
    await passTime(all, DEADLINE_MS);
    await closed;
  });
});
