import { beforeAll, describe, it } from "vitest";
import { ownRedis } from "../support/redis-fixture.ts";
import type { Mood } from "./plans.ts";
import { requireModel } from "./run-model.ts";
import { SUITES, setups } from "./setups.ts";
import { openTimed } from "./timed-driver.ts";
import { TimedRedisStore } from "./timed-redis.ts";

const MOODS: readonly Mood[] = ["busy", "idle", "backward"];

const redis = ownRedis();
let openStore: (prefix: string, nowUs: number) => TimedRedisStore;
beforeAll(async () => {
  openStore = await TimedRedisStore.load(redis.client);
});

describe("the scripts on a test clock equal the model in replies, stored values and lives", () => {
  it.each(SUITES)("%s", { timeout: 600_000 }, (name, algorithm, leases) =>
    requireModel({
      name: `scripts, ${name}`,
      setups: setups(algorithm),
      plans: { leases, moods: MOODS },
      open: () => openTimed(openStore),
    }),
  );
});
