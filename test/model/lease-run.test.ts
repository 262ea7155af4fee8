import { describe, expect, it } from "vitest";
import { findFailure, runOnce } from "./lease-run.ts";
import { LEASE_TWINS, rulesOf } from "./lease-twins.ts";

describe("a run that breaks", () => {
  const twin = LEASE_TWINS[0] as (typeof LEASE_TWINS)[number];
  const options = { rules: rulesOf(twin), setups: twin.setups };

  it("is found again by its seed, to the last word of its story", async () => {
    const failure = await findFailure(1000, options, 1);
    expect(failure).toBeDefined();
    expect(await runOnce(failure?.seed as number, options)).toEqual(failure);
  });

  it("is told as the shortest history that breaks, with who took part and what the store did", async () => {
    const failure = await findFailure(1000, options, 1);
    const lines = failure?.story.split("\n") ?? [];
    expect(lines[0]).toMatch(/^ {2}buckets: \d+ per \d+ ms, burst \d+/);
    expect(lines.at(-1)).toMatch(/^ {2}[\d.]+ tokens over in bucket 0 at \d+ us: /);
    expect(lines.join("\n")).toMatch(/\d+ us: store: policy-0: .* leased as #\d+ for \d+ us/);
    expect(lines.length).toBeLessThan(30);
  });

  it("of whole limiters is found again too", async () => {
    const limiters = LEASE_TWINS.find(({ mistake }) => mistake.includes("whole limiter that says each report twice"));
    if (limiters === undefined) throw new Error("no such twin");
    const again = (): Parameters<typeof runOnce>[1] => ({ twins: limiters.holders?.() ?? {}, setups: limiters.setups });
    const failure = await findFailure(2000, again() ?? {}, 1);
    expect(await runOnce(failure?.seed as number, again())).toEqual(failure);
  });
});
