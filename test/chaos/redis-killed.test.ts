import { faultTest } from "./fault-test.ts";

faultTest(
  "a killed Redis makes nobody wait for a reconnect, and decides again once it is back (C12 a)",
  {
    name: "Redis killed, back after 5 s",
    lastsMs: 5_000,
    begin: ({ server }) => server.kill(),
    end: ({ server }) => server.restart(),
  },
  { absences: 1, silent: true },
);

faultTest(
  "a Redis that comes back empty decides at once (C13 c)",
  {
    name: "Redis restarted empty",
    lastsMs: 0,
    begin: ({ server }) => server.kill(),
    end: ({ server }) => server.restart(),
  },
  { absences: 1, forgets: 1 },
);
