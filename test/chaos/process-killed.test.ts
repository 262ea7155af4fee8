import { expect } from "vitest";
import { faultTest } from "./fault-test.ts";

const KILLED = 0;

faultTest(
  "a process that is killed with leases in hand takes at most those with it, for as long as they live (C24 c)",
  {
    name: "process killed (SIGKILL) with leases",
    mortal: [KILLED],
    lastsMs: 3_000,
    begin: ({ fleet }) => fleet.kill(KILLED),
    end() {},
  },
  { absences: 0, leastUsed: { uniform: 0.99 } },
  ({ lastWords, beganMs }, quiet) => {
    const ofLeases = lastWords.filter(({ source }) => source === "lease");
    expect(ofLeases.length).toBeGreaterThan(quiet ? 100 : 0);
    // It was at work until the end.
    expect(beganMs - (lastWords.at(-1)?.startedMs ?? 0)).toBeLessThan(quiet ? 500 : 2_000);
  },
);
