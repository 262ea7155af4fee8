import { describe, expect, it } from "vitest";
import { scriptCallsIn, storeCallsOf } from "./redis-calls.ts";

const INFO = [
  "# Commandstats",
  "cmdstat_eval:calls=2,usec=90,usec_per_call=45.00,rejected_calls=0,failed_calls=0",
  "cmdstat_evalsha:calls=40,usec=900,usec_per_call=22.50,rejected_calls=0,failed_calls=1",
  "cmdstat_info:calls=11,usec=9,usec_per_call=0.82,rejected_calls=0,failed_calls=0",
  "cmdstat_get:calls=300,usec=9,usec_per_call=0.03,rejected_calls=0,failed_calls=0",
].join("\r\n");

describe("scriptCallsIn", () => {
  it("counts EVALSHA and EVAL, not what scripts call nor the looks themselves", () => {
    expect(scriptCallsIn(INFO)).toBe(42);
    expect(scriptCallsIn("# Commandstats\r\n")).toBe(0);
  });
});

describe("storeCallsOf", () => {
  it("gives the total and the calls of each second", () => {
    const samples = [
      { atMs: 500, calls: 100 },
      { atMs: 1500, calls: 190 },
      { atMs: 2500, calls: 260 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 160, perSecond: [90, 70] });
  });

  it("spreads calls evenly between looks that came late", () => {
    const samples = [
      { atMs: 0, calls: 0 },
      { atMs: 2000, calls: 100 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 100, perSecond: [50, 50] });
  });

  it("counts nothing after the last look", () => {
    const samples = [
      { atMs: 0, calls: 5 },
      { atMs: 900, calls: 95 },
    ];
    expect(storeCallsOf(samples, 2)).toEqual({ total: 90, perSecond: [90, 0] });
  });
});
