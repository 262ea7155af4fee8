import { describe, expect, it } from "vitest";
import { admissionsByKey, spansAlone } from "./admissions.ts";
import { ApartTime } from "./apart-time.ts";
import { readBound } from "./bounds.ts";
import type { DecisionColumns } from "./load-fleet.ts";
import { mostInAnyWindow } from "./window-maximum.ts";

const NOBODY_ALONE = new ApartTime([[], [], [], []]);
const POLICY = { name: "p", limit: 100, period: "1s", burst: 10 } as const;

function at(...instantsMs: number[]): { fromMs: number; toMs: number }[] {
  return instantsMs.map((ms) => ({ fromMs: ms, toMs: ms }));
}

/** The same by looking at every window. */
function slowMaximum(admissions: readonly { fromMs: number; toMs: number }[], perMs: number): number {
  let most = 0;
  for (const { fromMs } of admissions)
    for (const { toMs } of admissions) {
      if (toMs < fromMs) continue;
      const inside = admissions.filter((each) => each.fromMs >= fromMs && each.toMs <= toMs).length;
      most = Math.max(most, inside - (toMs - fromMs) * perMs);
    }
  return most;
}

describe("the most that any window has above rate x length", () => {
  it.each([
    ["nothing", [], 0],
    ["one", at(5), 1],
    ["three at once", at(5, 5, 5), 3],
    ["three, one for each token that leaks", at(0, 10, 20), 1],
    ["three, twice as fast", at(0, 5, 10), 2],
    ["a crowd late in a quiet time", at(0, 100, 500, 500, 500, 505), 3.5],
  ])("%s", (_name, admissions, most) => {
    expect(mostInAnyWindow(admissions, 0.1)).toBeCloseTo(most, 9);
  });

  it("counts an admission for the windows that hold its whole span only", () => {
    const spread = [0, 1, 2].map((each) => ({ fromMs: each * 10, toMs: each * 10 + 25 }));
    expect(mostInAnyWindow(spread, 0.1)).toBe(0);
    expect(mostInAnyWindow(spread, 0.01)).toBeCloseTo(3 - 0.45, 9);
  });

  it("agrees with a look at every window", () => {
    let state = 7;
    const next = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    for (let run = 0; run < 50; run++) {
      const admissions = Array.from({ length: 30 }, () => {
        const fromMs = Math.floor(next() * 200);
        return { fromMs, toMs: fromMs + Math.floor(next() * 3) * 10 };
      });
      expect(mostInAnyWindow(admissions, 0.1)).toBeCloseTo(slowMaximum(admissions, 0.1), 6);
    }
  });
});

describe("the bound of a key", () => {
  it("holds for a bucket that is drained and then used as it fills, and not for one token more", () => {
    const drained = at(...Array.from({ length: 10 }, () => 0), ...Array.from({ length: 50 }, (_, i) => (i + 1) * 10));
    const none = { forgets: 0, jumps: 0 };
    expect(readBound(drained, POLICY, NOBODY_ALONE, none)).toMatchObject({ within: true });
    expect(readBound([...drained, ...at(250)], POLICY, NOBODY_ALONE, none)).toMatchObject({ within: false });
    expect(readBound([...drained, ...at(250)], POLICY, NOBODY_ALONE, { forgets: 1, jumps: 0 }).within).toBe(true);
  });

  it("allows a part that is cut off its rate and its burst, and not to all who are", () => {
    // 125 a second for 4 s, where one of four is alone.
    const admissions = at(...Array.from({ length: 500 }, (_, i) => i * 8));
    const none = { forgets: 0, jumps: 0 };
    const oneAlone = new ApartTime([[{ fromMs: 0, toMs: 4_000 }], [], [], []]);
    const allAlone = new ApartTime(Array.from({ length: 4 }, () => [{ fromMs: 0, toMs: 4_000 }]));
    expect(readBound(admissions, POLICY, NOBODY_ALONE, none).within).toBe(false);
    expect(readBound(admissions, POLICY, oneAlone, none).within).toBe(true);
    expect(readBound(admissions, POLICY, allAlone, none).within).toBe(false);
    expect(oneAlone.totalMs).toBe(1_000);
    expect(oneAlone.until(2_000)).toBe(2_500);
    expect(oneAlone.until(6_000)).toBe(7_000);
  });

  it("allows a fixed window twice its limit around an edge", () => {
    const policy = { name: "w", limit: 10, period: "1s", algorithm: "fixed-window" } as const;
    const twice = at(...Array.from({ length: 10 }, () => 999), ...Array.from({ length: 10 }, () => 1_001));
    const none = { forgets: 0, jumps: 0 };
    expect(readBound(twice, policy, NOBODY_ALONE, none).within).toBe(true);
    expect(readBound([...twice, ...at(1_000)], policy, NOBODY_ALONE, none).within).toBe(false);
  });
});

describe("what a process tells", () => {
  const columns = (
    rows: readonly (readonly [key: number, startedMs: number, allowed: 0 | 1, source: "store" | "backstop"])[],
  ) =>
    ({
      keys: ["a", "b"],
      keyOf: Uint16Array.from(rows, ([key]) => key),
      startedMs: Float64Array.from(rows, ([, startedMs]) => startedMs),
      tookMs: Float64Array.from(rows, () => 2),
      allowed: Uint8Array.from(rows, ([, , allowed]) => allowed),
      sources: rows.map(([, , , source]) => source),
    }) as unknown as DecisionColumns;

  it("is put together by key, with what those wrote down who were killed", () => {
    const told = columns([
      [0, 1, 1, "store"],
      [1, 2, 0, "store"],
      [0, 3, 1, "backstop"],
    ]);
    const journal = [{ key: "b", startedMs: 5, tookMs: 1, source: "lease" }];
    expect(Object.fromEntries(admissionsByKey([told], journal))).toEqual({
      a: [
        { fromMs: 1, toMs: 3 },
        { fromMs: 3, toMs: 5 },
      ],
      b: [{ fromMs: 5, toMs: 6 }],
    });
  });

  it("has one absence for decisions without the store that are close together", () => {
    const told = columns([
      [0, 100, 1, "backstop"],
      [0, 200, 1, "store"],
      [0, 300, 0, "backstop"],
      [0, 900, 1, "backstop"],
    ]);
    expect(spansAlone(told)).toEqual([
      { fromMs: 100, toMs: 302 },
      { fromMs: 900, toMs: 902 },
    ]);
  });
});
