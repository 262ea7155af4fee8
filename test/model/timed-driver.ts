import type { TimedRedisStore } from "./timed-redis.ts";
import type { Driver } from "./world.ts";

/** 2026-10-05: sixteen digits of microseconds. */
const START_US = 1_791_187_200_123_456;
let opened = 0;

/** A store on a test clock with keys that no other run has. */
export function openTimed(openStore: (prefix: string, nowUs: number) => TimedRedisStore): Driver {
  const store = openStore(`run-${++opened}`, START_US);
  return {
    store,
    prefix: store.prefix,
    expires: true,
    nowUs: () => store.nowUs,
    move: (us) => {
      store.nowUs += us;
    },
    records: (keys) => store.records(keys),
    spoil: (address, bytes) => store.spoil(address, bytes),
  };
}
