import { faultTestOn } from "./fault-test.ts";
import { openSentinel } from "./sentinel-stage.ts";

let failover: Promise<unknown>;

faultTestOn(
  openSentinel,
  "limiters follow to the new primary, and the old one decides nothing more (C13 a)",
  {
    name: "Sentinel failover on request",
    begin({ sentinel }) {
      failover = sentinel.failover();
    },
    lastsMs: 0,
    look: () => failover,
    end() {},
  },
  { absences: "any", forgets: 1 },
);

faultTestOn(
  openSentinel,
  "limiters decide by their share until the sentinels have a new primary, and then follow to it",
  {
    name: "Sentinel failover, primary killed",
    begin: ({ sentinel }) => sentinel.firstPrimary.kill(),
    lastsMs: 0,
    look: ({ sentinel }) => sentinel.primaryOtherThan(sentinel.firstPrimary.port),
    end() {},
  },
  { absences: 1, silent: true, forgets: 1 },
);
