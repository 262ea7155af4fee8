import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { durationUs } from "./duration.ts";

const DAY_MS = 86_400_000;
const read = (value: unknown): number => durationUs(value, "period", 1, 366 * DAY_MS);

describe("durationUs", () => {
  it.each([
    [1, 1000],
    [1.5, 1500],
    [250, 250_000],
    [1500.5, 1_500_500],
    ["1ms", 1000],
    ["250ms", 250_000],
    ["1500.5ms", 1_500_500],
    ["1s", 1_000_000],
    ["1.1s", 1_100_000],
    ["0.001s", 1000],
    ["15m", 900_000_000],
    ["12h", 43_200_000_000],
    ["0.1d", 8_640_000_000],
    ["1d", 86_400_000_000],
    ["30d", 2_592_000_000_000],
    ["366d", 31_622_400_000_000],
    [366 * DAY_MS, 31_622_400_000_000],
  ])("reads %s as %d us", (value, us) => {
    expect(read(value)).toBe(us);
  });

  it.each([
    [0],
    [-1],
    [0.5],
    [0.999],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [366 * DAY_MS + 1],
    ["0s"],
    ["0.5ms"],
    ["366.1d"],
    ["-1s"],
    ["+1s"],
    ["1"],
    ["100"],
    [""],
    ["s"],
    [" 1s"],
    ["1s "],
    ["1 s"],
    ["1S"],
    ["1sec"],
    ["1w"],
    ["1e3ms"],
    [".5s"],
    ["1.s"],
    ["1.1.1s"],
    ["1_000ms"],
    ["0x10ms"],
    ["NaNs"],
    ["Infinityms"],
    [`${"9".repeat(400)}ms`],
    ["1s\n"],
    [null],
    [undefined],
    [true],
    [1n],
    [["1s"]],
    [{ valueOf: () => 1000 }],
    [new Date()],
  ])("refuses %s and names the option, what was expected and what came", (value) => {
    expect(() => read(value)).toThrow(
      expect.objectContaining({
        code: "ERR_SPILLWAY_INVALID_OPTION",
        message: expect.stringMatching(
          /^Option period must be a duration from 1 ms to 31622400000 ms \(milliseconds, or text such as .*\), got [\s\S]+\.$/,
        ),
      }),
    );
  });

  it.each([[1.0005], ["1.0005ms"], [1000.0005], ["1.0000005s"], [86_400_000.0005]])(
    "refuses %s, which is finer than a microsecond",
    (value) => {
      expect(() => read(value)).toThrow(/in whole microseconds, got/);
    },
  );

  it("reads every whole number of microseconds, as milliseconds and in every unit", () => {
    const units = { ms: 1000n, s: 1_000_000n, m: 60_000_000n, h: 3_600_000_000n, d: 86_400_000_000n };
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 366 * DAY_MS * 1000 }), fc.constantFrom("ms", "s"), (us, unit) => {
        const digits = unit === "ms" ? 3 : 6;
        const text = us.toString().padStart(digits + 1, "0");
        expect(read(`${text.slice(0, -digits)}.${text.slice(-digits)}${unit}`)).toBe(us);
        expect(read(us / 1000)).toBe(us);
      }),
      { numRuns: 200 },
    );
    for (const [unit, us] of Object.entries(units)) expect(read(`7${unit}`)).toBe(Number(7n * us));
  });
});
