import { describe, expect, it } from "vitest";
import { RetrySlots } from "./retry-slots.ts";

const SLOT_MS = 10;
const FAR = 1e9;

function book(slots: RetrySlots, nowMs: number, count: number, mostMs = FAR, share = 0.5): number[] {
  return Array.from({ length: count }, () => slots.book(nowMs, SLOT_MS, 0, share, mostMs));
}

describe("times to come back", () => {
  it("are a slot apart, and move up as time passes", () => {
    const slots = new RetrySlots(() => 0);
    expect(book(slots, 0, 3)).toEqual([0, 10, 20]);
    expect(book(slots, 20, 2)).toEqual([10, 20]);
    expect(book(slots, 1000, 1)).toEqual([0]);
  });

  it("lie anywhere within their slot, so that callers of several processes do not meet", () => {
    const chances = [0, 0.99, 0.5];
    const slots = new RetrySlots(() => chances.shift() as number);
    expect(book(slots, 0, 3)).toEqual([0, 19.9, 25]);
  });

  it("begin behind half the backlog", () => {
    expect(new RetrySlots(() => 0).book(0, SLOT_MS, 16, 0.5, FAR)).toBe(80);
  });

  it("get shorter at once when the service gets faster", () => {
    const slots = new RetrySlots(() => 0);
    for (let i = 0; i < 100; i++) slots.book(0, 1000, 0, 1, FAR);
    expect(slots.book(0, 10, 0, 1, FAR)).toBe(1000);
  });

  it("are not kept for those to whom they are of no use", () => {
    const slots = new RetrySlots(() => 0);
    expect(book(slots, 0, 4, 15)).toEqual([0, 10, 20, 20]);
  });

  it("leave room for newcomers when overload lasts, but not in a herd that comes once", () => {
    const slots = new RetrySlots(() => 0);
    const gaps: number[] = [];
    for (let nowMs = 0; nowMs <= 4000; nowMs += 500) {
      const [first = 0, second = 0] = book(slots, nowMs, 2, FAR, 0.25);
      gaps.push(second - first);
    }
    expect(gaps).toEqual([10, 10, 10, 10, 10, 40, 40, 40, 40]);
    const [first = 0, second = 0] = book(slots, 5500, 2, FAR, 0.25);
    expect(second - first).toBe(10);
  });

  it("are no shorter than nothing when the clock goes back", () => {
    const slots = new RetrySlots(() => 0);
    book(slots, 10_000, 2);
    expect(book(slots, 0, 1)).toEqual([20]);
  });
});
