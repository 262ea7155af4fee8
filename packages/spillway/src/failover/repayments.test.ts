import { describe, expect, it } from "vitest";
import { type Policy, resolvePolicy } from "../policy.ts";
import { memoryStore } from "../stores/memory-store.ts";
import type { Adjustment, PeekReply, Store } from "../stores/store.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { Repayments } from "./repayments.ts";

const POLICY: Policy = resolvePolicy({ name: "p", limit: 10, period: "1s" }, "policy");
const ANSWER_WITHIN_MS = 100;
const MOST_REPORTS = 10_000;
const REPLY: PeekReply = { nowUs: 1, buckets: [] };

function setup(groupOf: (key: string) => number = () => 0) {
  const calls: (readonly Adjustment[])[] = [];
  let fails: boolean | "silence" = false;
  const leftAlone = new Set<string>();
  const clock = manualClock();
  let under = 0;
  /** A turn of the event loop passes until a reply. */
  const answered = async (): Promise<void> => {
    under++;
    await new Promise((resolve) => setImmediate(resolve));
    under--;
  };
  const store: Store = Object.assign(memoryStore({ clock }), {
    groupOf,
    adjust: async (adjustments: readonly Adjustment[]) => {
      calls.push(adjustments);
      await answered();
      if (fails === "silence") return await new Promise<PeekReply>(() => {});
      if (fails) throw new Error("gone");
      return REPLY;
    },
  });
  return {
    repayments: new Repayments(store, clock, ANSWER_WITHIN_MS, MOST_REPORTS, (key) => !leftAlone.has(key)),
    leftAlone,
    calls,
    clock,
    pending: () => under,
    pass: async (ms: number) => {
      clock.advance(ms);
      await turns();
    },
    fail: (value: boolean | "silence") => {
      fails = value;
    },
  };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe("what went in without the store", () => {
  it("is told once, as tokens taken, together where keys can travel together", async () => {
    const { repayments, calls } = setup((key) => Number(key.slice(-1)) % 2);
    for (let i = 0; i < 4; i++) repayments.add({ key: `key${i}`, policy: POLICY }, i + 1);
    await turns();
    expect(calls.map((call) => call.map(({ key, tokens }) => [key, tokens]))).toEqual([
      [
        ["key0", -1],
        ["key2", -3],
      ],
      [
        ["key1", -2],
        ["key3", -4],
      ],
    ]);
    repayments.send();
    await turns();
    expect(calls.length).toBe(2);
  });

  it("goes in calls of 32, one after another", async () => {
    const { repayments, calls } = setup();
    for (let i = 0; i < 70; i++) repayments.add({ key: `key${i}`, policy: POLICY }, 1);
    await turns();
    expect(calls.map(({ length }) => length)).toEqual([32, 32, 6]);
  });

  it("is put in order a part at a time, and told in a few calls at a time, all of it", async () => {
    const { repayments, calls, pending } = setup();
    const { length } = Array.from({ length: 10_000 }, (_, i) => repayments.add({ key: `key${i}`, policy: POLICY }, 1));
    let most = 0;
    for (let i = 0; i < 400; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, pending());
    }
    expect(new Set(calls.flat().map(({ key }) => key)).size).toBe(length);
    expect(calls.flat().length).toBe(length);
    expect(most).toBeLessThanOrEqual(4);
  });

  it("is told again, when asked to, if it may not have arrived", async () => {
    const { repayments, calls, fail, pass } = setup();
    fail(true);
    repayments.add({ key: "key", policy: POLICY }, 7);
    for (let i = 0; i < 20; i++) await pass(250);
    expect(calls.length).toBe(4);
    fail(false);
    repayments.send();
    await turns();
    expect(calls.map((call) => call[0]?.tokens)).toEqual([-7, -7, -7, -7, -7]);
    repayments.send();
    await turns();
    expect(calls.length).toBe(5);
  });

  it("is told again soon, a few times, when nobody says that it arrived", async () => {
    const { repayments, calls, fail, pass } = setup();
    fail("silence");
    repayments.add({ key: "key", policy: POLICY }, 7);
    await turns();
    await pass(ANSWER_WITHIN_MS - 1);
    expect(calls.length).toBe(1);
    await pass(1);
    expect(calls.length).toBe(1);
    await pass(0.001);
    expect(calls.length).toBe(2);
    for (let i = 0; i < 20; i++) await pass(250);
    expect(calls.map((call) => call[0]?.tokens)).toEqual([-7, -7, -7, -7]);
    fail(false);
    repayments.send();
    await turns();
    for (let i = 0; i < 5; i++) await pass(250);
    expect(calls.length).toBe(5);
  });

  it("waits while the part of the store that it is for is left alone, and keeps nothing else waiting", async () => {
    const { repayments, calls, fail, pass, leftAlone } = setup((key) => Number(key.slice(-1)) % 2);
    fail("silence");
    for (let i = 0; i < 640; i++) repayments.add({ key: `key${2 * i}`, policy: POLICY }, 1);
    await turns();
    fail(false);
    for (let i = 0; i < 640; i++) leftAlone.add(`key${2 * i}`);
    repayments.add({ key: "key1", policy: POLICY }, 7);
    for (let i = 0; i < 20; i++) await pass(ANSWER_WITHIN_MS);
    expect(calls.map(([report]) => report?.key)).toEqual(["key0", "key1"]);
    leftAlone.clear();
    repayments.send();
    await turns();
    expect(calls.slice(2).flat().length).toBe(640);
    await repayments.sendNow();
    expect(calls.slice(2).flat().length).toBe(640);
  });

  it("is told when there is no other time, though the store is left alone", async () => {
    const { repayments, calls, leftAlone } = setup();
    leftAlone.add("key");
    repayments.add({ key: "key", policy: POLICY }, 7);
    await turns();
    expect(calls).toEqual([]);
    await repayments.sendNow();
    expect(calls.flat()).toMatchObject([{ key: "key", tokens: -7 }]);
  });

  it("is not told again when it has arrived, and no timer is left", async () => {
    const { repayments, calls, pass, clock } = setup();
    repayments.add({ key: "key", policy: POLICY }, 7);
    await turns();
    await pass(1000);
    expect([calls.length, clock.pendingTimers]).toEqual([1, 0]);
  });
});
