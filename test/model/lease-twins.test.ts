import { describe, expect, it } from "vitest";
import { findFailure } from "./lease-run.ts";
import { LEASE_TWINS, rulesOf } from "./lease-twins.ts";

/** A thorough search goes on for 20,000 runs; what it is to find, it finds long before. */
const MOST_RUNS = 5000;

describe("the property test finds a limiter in which", () => {
  it.each(LEASE_TWINS.map((twin) => [twin.mistake, twin] as const))("%s", { timeout: 300_000 }, async (_, twin) => {
    const failure = await findFailure(
      MOST_RUNS,
      { rules: rulesOf(twin), twins: twin.holders?.() ?? {}, setups: twin.setups },
      1,
    );
    expect(failure, `not found in ${MOST_RUNS} runs`).toBeDefined();
    // Code that does not run at all would be found by any test.
    expect(failure?.story).not.toMatch(/Error/);
    expect(failure?.seed).toBeLessThan(MOST_RUNS);
  });
});
