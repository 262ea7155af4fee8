import { expect, it } from "vitest";
import type { ChaosRow } from "./chaos-row.ts";
import { pageTableOf, tableOf } from "./table.ts";

const ROW: ChaosRow = {
  fault: "all is well",
  missed: 3,
  wrong: 0,
  bound: { most: 0.97, stated: 1.75 },
  admitted: 0.991,
  used: { uniform: 1, zipf: 0.92, "one-hot": 0.25 },
  noise: undefined,
  shortfalls: [],
  p999Ms: 48.123,
  openP999Ms: 0.004,
  longestMs: 50,
  backMs: 712.3,
};
const SHORT: ChaosRow = {
  ...ROW,
  fault: "too much",
  bound: { most: 3.5, stated: 1 },
  used: {},
  openP999Ms: Number.NaN,
  noise: "a timer 40 ms late",
  shortfalls: ["key, policy: 3.50 b above r x T; 1.00 stated"],
};
const SKIPPED = { fault: "a clock", reason: "no libfaketime" };

it("a terminal gets one line for each fault, what was left out, and why a fault falls short", () => {
  const lines = tableOf([ROW, SHORT], [SKIPPED]).split("\n");
  expect(lines.map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
    "fault  over, % of b  stated  used, % of r x T  admitted  missed  wrong  p99.9 ms  once open  back ms",
    "all is well  0  75  100 / 92 / 25  0.991  3  0  48.1  0.00  712",
    "too much  250  0  - / - / -  0.991  3  0  48.1  -  712  FALLS SHORT; busy machine (a timer 40 ms late): times not judged",
    "a clock  skipped: no libfaketime",
    "2 faults, 1 fall short.",
    "  too much: key, policy: 3.50 b above r x T; 1.00 stated",
  ]);
});

it("a page gets the same as a table", () => {
  const lines = pageTableOf([ROW], [SKIPPED]).split("\n");
  expect(lines[2]).toBe("| all is well | 0 | 75 | 100 / 92 / 25 | 0.991 | 3 | 0 | 48.1 | 0.00 | 712 |  |");
  expect(lines[3]).toBe(`| a clock |${"  |".repeat(9)} skipped: no libfaketime |`);
});
