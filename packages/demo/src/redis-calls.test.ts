import { describe, expect, it } from "vitest";
import { scriptCallsIn } from "./redis-calls.ts";

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
