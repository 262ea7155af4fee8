import { describe, expect, it } from "vitest";
import { breakerInVirtualTime } from "../../bench/experiments/breaker.ts";
import type { Findings, Lab } from "../../bench/experiments/experiment.ts";
import { hopsInVirtualTime } from "../../bench/experiments/hops.ts";
import { policiesInVirtualTime } from "../../bench/experiments/policies.ts";
import { retriesInVirtualTime } from "../../bench/experiments/retries.ts";
import { stormInVirtualTime } from "../../bench/experiments/storm.ts";

const lab: Lab = { quick: true, rounds: 1, seed: 1, say: () => undefined };

describe("the lab, without a socket,", () => {
  it.each<[string, (lab: Lab) => Promise<Findings>]>([
    ["storm", stormInVirtualTime],
    ["retries", retriesInVirtualTime],
    ["policies", policiesInVirtualTime],
    ["hops", hopsInVirtualTime],
    ["breaker", breakerInVirtualTime],
  ])("meets every mark of %s", { timeout: 90_000 }, async (_name, run) => {
    const { marks, tables, summary } = await run(lab);
    expect(marks.length).toBeGreaterThan(3);
    for (const { met, text } of marks) expect(met, text).toBe(true);
    for (const { columns, rows } of tables) for (const row of rows) expect(row.length).toBe(columns.length);
    expect(summary).not.toMatch(/NaN|undefined|Infinity/);
  });
});
