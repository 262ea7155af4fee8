import { faultTest, type StandaloneFault } from "./fault-test.ts";

const STOPPED: Omit<StandaloneFault, "name"> = {
  lastsMs: 3_000,
  begin: ({ server }) => server.pause(),
  end: ({ server }) => server.resume(),
};
const KILLED: Omit<StandaloneFault, "name"> = {
  lastsMs: 3_000,
  begin: ({ server }) => server.kill(),
  end: ({ server }) => server.restart(),
};
const STRANDED: Omit<StandaloneFault, "name"> = {
  viaProxy: "all",
  lastsMs: 0,
  begin: ({ proxy }) => proxy.strand(),
  end() {},
};

for (const driver of ["node-redis", "iovalkey"] as const) {
  faultTest(
    `a stopped Redis costs three calls with ${driver}, too`,
    { ...STOPPED, driver, name: `Redis stopped 3 s, ${driver}` },
    { absences: 1, silent: true },
  );

  faultTest(
    `a killed Redis makes nobody wait with ${driver}, either`,
    { ...KILLED, driver, name: `Redis killed 3 s, ${driver}` },
    { absences: 1, silent: true },
  );

  faultTest(
    `a half-open connection of ${driver} is given up, too`,
    { ...STRANDED, driver, name: `half-open connection, ${driver}` },
    { absences: 1 },
  );
}
