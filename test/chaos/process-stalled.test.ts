import { expect } from "vitest";
import type { FaultRun } from "./fault.ts";
import { faultTest } from "./fault-test.ts";

const STALLED = 0;

/** The store was there all the time: replies that wait in a process that cannot read them are not missed. */
function expectNothingMissed({ reports }: FaultRun, quiet: boolean): void {
  if (!quiet) return;
  for (const { missed, stats } of reports) {
    expect(missed).toBe(0);
    expect(stats.health.warnings).toEqual([]);
  }
}

faultTest(
  "a process whose event loop was busy for 2 s decides for those who waited, and does not blame the store",
  {
    name: "event loop busy for 2 s",
    stalled: [STALLED],
    lastsMs: 2_000,
    begin({ fleet }) {
      void fleet.block(STALLED, 2_000);
    },
    end() {},
  },
  { absences: 0, degraded: "perhaps" },
  expectNothingMissed,
);

faultTest(
  "a process that was stopped for 3 s spends nothing that grew old meanwhile, and does not blame the store (C24)",
  {
    name: "process stopped (SIGSTOP) 3 s",
    stalled: [STALLED],
    lastsMs: 3_000,
    begin: ({ fleet }) => fleet.signal(STALLED, "SIGSTOP"),
    end: ({ fleet }) => fleet.signal(STALLED, "SIGCONT"),
  },
  { absences: 0, degraded: "perhaps" },
  expectNothingMissed,
);
