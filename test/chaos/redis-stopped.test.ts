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
