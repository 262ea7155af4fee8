import type { LimiterStats } from "spillway";
import { expect } from "vitest";
import { faultTest } from "./fault-test.ts";

let stats: LimiterStats[] = [];

faultTest(
  "a store that answers after 200 ms decides nothing, and the health view says that the deadline is too short for it",
  {
    name: "200 ms latency",
    viaProxy: "all",
    lastsMs: 4_000,
    begin: ({ proxy }) => proxy.delay(100),
    async look({ fleet }) {
      stats = await fleet.stats();
    },
    end: ({ proxy }) => proxy.delay(0),
  },
  { absences: 1, silent: true },
  ({ reports }, quiet) => {
    for (const { health } of stats) {
      expect(health).toMatchObject({ degraded: true, nodes: [{ state: "away" }] });
      expect(health.warnings.join()).toMatch(/the deadline of 50 ms should be at least twice that/);
    }
    if (quiet)
      for (const { stats: later } of reports) expect(later.health).toMatchObject({ degraded: false, warnings: [] });
  },
);
