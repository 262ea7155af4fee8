import { describe, expect, it } from "vitest";
import { SHIPPED_RULES, type StoreRules } from "./lease-rules.ts";
import { findFailure, RUNS, requireNoFailure } from "./lease-run.ts";
import { ALIGNED_TWIN, PERIOD_TWINS, WINDOW_TWINS } from "./lease-window-twins.ts";

const TIMEOUT_MS = 3_600_000;
/** Fewer than of buckets where nobody asks for more: there are three kinds of runs here too. */
const WINDOW_RUNS = process.env.SPILLWAY_LEASE_RUNS === undefined ? 500 : RUNS;
const EACH = ["fixed-window", "sliding-window-counter"] as const;

describe("whatever holders do, lose and believe, no more goes in than a window allows", () => {
  it.each(EACH)("adverse holders of %ss", { timeout: TIMEOUT_MS }, (algorithm) =>
    requireNoFailure(`adverse holders of ${algorithm}s`, WINDOW_RUNS, {
      setups: { kinds: ["adverse"], algorithms: [algorithm] },
    }),
  );

  it.each(EACH)("holders of %ss whose period and limit alternate", { timeout: TIMEOUT_MS }, (algorithm) =>
    requireNoFailure(`alternating periods of ${algorithm}s`, WINDOW_RUNS, {
      setups: { algorithms: [algorithm], flapping: true, periods: true, often: ["reconfigure"] },
    }),
  );

  it("all kinds of holders, of windows alone and of windows beside buckets", { timeout: TIMEOUT_MS }, () =>
    requireNoFailure("all kinds of holders of windows", WINDOW_RUNS, {
      setups: { algorithms: [...EACH, "token-bucket"] },
    }),
  );
});

/** A thorough search goes on for 20,000 runs; what it is to find, it finds long before. */
const MOST_RUNS = 5000;

describe("the property test of windows finds a limiter in which", () => {
  const twins = [...WINDOW_TWINS, ...PERIOD_TWINS, ALIGNED_TWIN].map((twin) => [twin.mistake, twin] as const);
  it.each(twins)("%s", { timeout: 300_000 }, async (_, { rules, holders, setups }) => {
    const broken = { ...SHIPPED_RULES, ...(rules as Partial<StoreRules>) };
    const failure = await findFailure(MOST_RUNS, { rules: broken, twins: holders?.() ?? {}, setups }, 1);
    expect(failure, `not found in ${MOST_RUNS} runs`).toBeDefined();
    // Code that does not run at all would be found by any test.
    expect(failure?.story).not.toMatch(/Error/);
  });
});
