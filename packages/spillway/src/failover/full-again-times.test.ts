import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FullAgainTimes } from "./full-again-times.ts";

describe("times when buckets will be full again", () => {
  it("are told to the millisecond, rounded up, and are over when nothing was noted", () => {
    const times = new FullAgainTimes(100);
    expect(times.fullMs(7)).toBe(Number.NEGATIVE_INFINITY);
    times.note(7, 1500.2, 1000.9);
    expect(times.fullMs(7)).toBe(1501);
    expect(times.fullMs(8)).toBeLessThanOrEqual(1000.9);
  });

  it("are the latest that were noted, and may be never", () => {
    const times = new FullAgainTimes(100);
    times.note(7, 2000, 1000);
    times.note(7, 1500, 1100);
    expect(times.fullMs(7)).toBe(2000);
    times.note(7, Number.POSITIVE_INFINITY, 1200);
    times.stretch(3, 1300);
    expect(times.fullMs(7)).toBe(Number.POSITIVE_INFINITY);
  });

  it("come later by as much as everything fills more slowly", () => {
    const times = new FullAgainTimes(100);
    times.note(7, 2000, 1000);
    times.stretch(2, 1500);
    expect(times.fullMs(7)).toBeGreaterThanOrEqual(2500);
    expect(times.fullMs(7)).toBeLessThanOrEqual(2502);
  });

  it("never come earlier than noted, however many there are and wherever they fall", () => {
    const afterMs = fc.oneof({ weight: 30, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(4000) });
    const note = fc.record({ hash: fc.integer({ min: 1, max: 200 }), inMs: fc.nat(2000), afterMs });
    fc.assert(
      fc.property(fc.constantFrom(1, 20, 1000), fc.array(note, { maxLength: 600 }), (most, notes) => {
        const times = new FullAgainTimes(most);
        const model = new Map<number, number>();
        let nowMs = 0.5;
        for (const { hash, inMs, afterMs } of notes) {
          nowMs += afterMs;
          times.clearIfOver(nowMs);
          times.note(hash, nowMs + inMs, nowMs);
          model.set(hash, Math.max(model.get(hash) ?? 0, nowMs + inMs));
          for (const [each, fullMs] of model)
            if (fullMs > nowMs && times.fullMs(each) < fullMs) throw new Error(`${each} was forgotten`);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("of hardly any bucket are another one's, and none is told to an unseen one while there is room", () => {
    const times = new FullAgainTimes(100_000);
    const hash = (i: number): number => Math.imul(i, 0x9e3779b1) >>> 0 || 1;
    for (let i = 1; i <= 100_000; i++) times.note(hash(i), 1000 + i, 0);
    let exact = 0;
    let mistaken = 0;
    for (let i = 1; i <= 100_000; i++) if (times.fullMs(hash(i)) === 1000 + i) exact++;
    for (let i = 200_001; i <= 300_000; i++) if (times.fullMs(hash(i)) > 0) mistaken++;
    expect(exact).toBe(100_000);
    expect(mistaken).toBe(0);
  });

  it("take the free places of those that are over, so that a table does not grow by what is past", () => {
    const times = new FullAgainTimes(20);
    for (let i = 1; i < 10_000; i++) {
      times.note(i, i + 10, i);
      expect(times.fullMs(i)).toBe(i + 10);
    }
    expect(times.fullMs(10_003)).toBeLessThan(10_003);
  });

  it("take no room any more once all of them are over, and not before", () => {
    const times = new FullAgainTimes(20);
    times.note(7, 2000, 1000);
    times.stretch(2, 1500);
    times.clearIfOver(2400);
    expect(times.fullMs(7)).toBeGreaterThanOrEqual(2500);
    times.clearIfOver(2502);
    expect(times.fullMs(7)).toBe(Number.NEGATIVE_INFINITY);
    times.note(7, 4000, 3000);
    expect(times.fullMs(7)).toBe(4000);
  });
});
