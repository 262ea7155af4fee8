import { POLICY } from "./fault.ts";
import { faultTest, type StandaloneFault } from "./fault-test.ts";

const stopped: Omit<StandaloneFault, "name"> = {
  lastsMs: 5_000,
  begin: ({ server }) => server.pause(),
  end: ({ server }) => server.resume(),
};

faultTest(
  "a stopped Redis costs three calls, and nobody waits for it after that",
  { ...stopped, name: "Redis stopped (SIGSTOP) 5 s, leases" },
  { absences: 1, silent: true },
);

faultTest(
  "a stopped Redis costs three calls when each decision asks it, too",
  { ...stopped, name: "Redis stopped (SIGSTOP) 5 s, exact", lease: false },
  { absences: 1, silent: true },
);

const BUSY = 1;

faultTest(
  "a process that has all the load of a fleet has nearly all of the limits while Redis is stopped",
  {
    ...stopped,
    name: "Redis stopped (SIGSTOP) 5 s, one process has all load",
    tiers: [{ name: "plain", policies: [POLICY], keysPerShape: 2, only: BUSY }],
    replicas: 1,
    steadyMs: 8_000,
  },
  { absences: 1, onlyOf: [BUSY], silent: true, leastUsed: { "one-hot": 0.8 } },
);
