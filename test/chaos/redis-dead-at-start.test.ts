import { faultTest } from "./fault-test.ts";

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
  { absences: 1, silent: true },
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
  { absences: 1, silent: true },
);
