import { describe, it } from "vitest";
import { RUNS, requireNoFailure } from "./lease-run.ts";

const TIMEOUT_MS = 3_600_000;

describe("whatever holders do, lose and believe, admissions stay within burst + rate x time in every window", () => {
  it("adverse holders, who obey no more than the protocol", { timeout: TIMEOUT_MS }, () =>
    requireNoFailure("adverse holders", RUNS, { setups: { kinds: ["adverse"] } }),
  );

  it("adverse holders, whole limiters and what is between, together", { timeout: TIMEOUT_MS }, () =>
    requireNoFailure("all kinds of holders", RUNS),
  );

  it("all kinds of holders of buckets whose rate and burst alternate", { timeout: TIMEOUT_MS }, () =>
    requireNoFailure("alternating rates", Math.ceil(RUNS / 4), { setups: { flapping: true, often: ["reconfigure"] } }),
  );

  it(
    "holders who all go over to another policy: the new bound holds, or the escrow at the change",
    { timeout: TIMEOUT_MS },
    () => requireNoFailure("a new policy", Math.ceil(RUNS / 4), { setups: { kinds: ["adverse"], deploys: true } }),
  );
});
