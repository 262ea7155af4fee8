import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecentKeys } from "./recent-keys.ts";

const NEVER_MS = Number.NEGATIVE_INFINITY;

describe("recent keys", () => {
  it("know when a key was last noted, to the millisecond", () => {
    const keys = new RecentKeys(100);
    expect(keys.lastMs("a", 5)).toBe(NEVER_MS);
    keys.note("a", 1000.75);
    keys.note("b", 2000);
    expect(keys.lastMs("a", 1000.75)).toBeGreaterThan(999);
    expect(keys.lastMs("a", 9000)).toBeCloseTo(1000, -1);
    keys.note("a", 3000);
    expect(keys.lastMs("a", 9000)).toBe(3000);
    expect(keys.lastMs("c", 9000)).toBe(NEVER_MS);
  });

  it("take no note of a key that was never decided for", () => {
    const keys = new RecentKeys(100);
    keys.note("a", NEVER_MS);
    expect(keys.lastMs("a", 0)).toBe(NEVER_MS);
  });

  it("forget a key when they are told to, and no other one", () => {
    const keys = new RecentKeys(100);
    keys.forget("a");
    keys.note("a", 1000);
    keys.note("b", 2000);
    keys.forget("a");
    expect([keys.lastMs("a", 3000), keys.lastMs("b", 3000)]).toEqual([NEVER_MS, 2000]);
  });

  it("equal a map while there is room, whatever is noted when, also as the clock passes 2^32 ms", () => {
    const note = fc.record({ key: fc.nat(3000), afterMs: fc.nat(50_000) });
    const startMs = fc.constantFrom(0, 2 ** 32 - 1_000_000, 5 * 2 ** 32);
    fc.assert(
      fc.property(startMs, fc.array(note, { maxLength: 2000 }), (start, notes) => {
        const keys = new RecentKeys(20_000);
        const model = new Map<string, number>();
        let nowMs = start;
        for (const { key, afterMs } of notes) {
          nowMs += afterMs;
          keys.note(`user:${key}`, nowMs);
          model.set(`user:${key}`, nowMs);
        }
        for (const [key, ms] of model) expect(keys.lastMs(key, nowMs)).toBe(ms);
      }),
      { numRuns: 50 },
    );
  });

  it("forget hardly any of as many as there is room for, and take hardly any for another", () => {
    const keys = new RecentKeys(100_000);
    for (let i = 0; i < 100_000; i++) keys.note(`user:${i}`, i);
    let known = 0;
    let mistaken = 0;
    for (let i = 0; i < 100_000; i++) if (keys.lastMs(`user:${i}`, 100_000) === i) known++;
    for (let i = 0; i < 100_000; i++) if (keys.lastMs(`other:${i}`, 100_000) !== NEVER_MS) mistaken++;
    expect(known).toBeGreaterThan(99_900);
    expect(mistaken).toBeLessThan(1000);
  });

  it("let the oldest go when there is no room", () => {
    const keys = new RecentKeys(500);
    for (let i = 0; i < 100_000; i++) keys.note(`user:${i}`, i);
    const isKnown = (i: number): boolean => keys.lastMs(`user:${i}`, 100_000) === i;
    const last = Array.from({ length: 100 }, (_, i) => 99_999 - i);
    expect(last.filter(isKnown).length).toBeGreaterThan(90);
    expect(Array.from({ length: 50_000 }, (_, i) => i).filter(isKnown)).toEqual([]);
  });
});
