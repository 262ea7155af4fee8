import { faultTest } from "./fault-test.ts";
import { LEAST_USED } from "./marks.ts";

/** Nobody has been allotted anything: a quarter is all that one of four can have, and tokens are whole. */
const EVEN = { ...LEAST_USED, "one-hot": 0.24 };

faultTest(
  "limiters that start while nothing listens decide by their share, and move to Redis once it is there (C11)",
  {
    cold: true,
    name: "nothing listens at the start",
    prepare: ({ server }) => server.kill(),
    begin() {},
    lastsMs: 2_000,
    end: ({ server }) => server.restart(),
  },
  { absences: 1, silent: true, leastUsed: EVEN },
);

faultTest(
  "limiters that start on an address that accepts and never answers decide by their share, too",
  {
    cold: true,
    name: "a black hole at the start",
    viaProxy: "all",
    prepare: ({ proxy }) => proxy.halfOpen(),
    begin() {},
    lastsMs: 3_000,
    end: ({ proxy }) => proxy.resume(),
  },
  { absences: 1, silent: true, leastUsed: EVEN },
);
