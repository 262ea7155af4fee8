import { faultTest } from "./fault-test.ts";

faultTest(
  "calls whose replies are lost are counted three times and not sent again (C12 c)",
  {
    name: "replies swallowed 3 s",
    viaProxy: "all",
    lastsMs: 3_000,
    begin: ({ proxy }) => proxy.swallowReplies(),
    end: ({ proxy }) => proxy.resume(),
  },
  { absences: 1, silent: true },
);

faultTest(
  "connections that are open and lead nowhere are counted three times, and new ones that are no better are left alone",
  {
    name: "half-open, all dropped 3 s",
    viaProxy: "all",
    lastsMs: 3_000,
    begin: ({ proxy }) => proxy.halfOpen(),
    end: ({ proxy }) => proxy.resume(),
  },
  { absences: 1, silent: true },
);

faultTest(
  "a connection whose other end is gone without a word is given up, and another one made",
  {
    name: "half-open connection",
    viaProxy: "all",
    lastsMs: 0,
    begin: ({ proxy }) => proxy.strand(),
    end() {},
  },
  { absences: 1 },
);

faultTest(
  "a server that is told to keep its clients waiting is left alone meanwhile",
  {
    name: "CLIENT PAUSE 3 s",
    lastsMs: 3_000,
    begin: ({ admin }) => admin.client("PAUSE", 3_000, "ALL"),
    end() {},
  },
  { absences: 1, silent: true },
);
