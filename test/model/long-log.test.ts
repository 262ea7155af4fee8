import { describe, expect, it } from "vitest";
import type { PolicyOptions } from "../../packages/spillway/src/policy.ts";
import { ownRedis } from "../support/redis-fixture.ts";
import { STEPS } from "./run-model.ts";
import { openTimed } from "./timed-driver.ts";
import { TimedRedisStore } from "./timed-redis.ts";
import { World } from "./world.ts";

const redis = ownRedis();

/** Entries of a log that is worth the name. */
const LONG = 100;

function logOf(limit: number, period: number): PolicyOptions {
  return { name: "long", algorithm: "sliding-window-log", limit, period };
}

/** Whole numbers below `end`, the same for the same seed. */
function randomBelow(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}

// The other model tests are too short for a log whose front is thrown away now and then.
describe("logs of hundreds of entries equal the model in replies, stored entries and lives, the oldest let go on the way", () => {
  it.each([
    ["under one policy", [logOf(400, 1000), logOf(400, 1000)]],
    ["under two limits", [logOf(400, 1000), logOf(150, 1000)]],
    ["under two periods", [logOf(500, 2000), logOf(90, 250)]],
    ["under a period that is forgotten now and then", [logOf(600, 400), logOf(200, 350)]],
  ])("%s", { timeout: 300_000 }, async (_, configs) => {
    const seed = Date.now() % 2 ** 31;
    const below = randomBelow(seed);
    const openStore = await TimedRedisStore.load(redis.client);
    const world = new World(openTimed(openStore), [configs, configs]);
    let longest = 0;
    let step = 0;
    // By chance it may take longer until the log has been long.
    for (; step < STEPS || (longest <= LONG && step < 10 * STEPS); step++) {
      const address = world.addressOf({ key: 0, name: 0, config: below(5) === 0 ? 1 : 0 });
      await world.driver.move(below(400) === 0 ? below(900_000) : below(4000));
      if (below(300) === 0) await world.driver.move(-below(20_000));
      const dice = below(100);
      if (dice < 3) await world.adjust(address, below(6) - 2);
      else if (dice < 6) await world.peek([address]);
      else {
        const runs = Array.from({ length: 1 + below(3) }, () => ({
          count: 1 + below(2),
          charges: [{ bucket: 0, cost: below(20) === 0 ? below(address.policy.limit) : 1 }],
        }));
        await world.take({ buckets: [{ ...address, report: undefined }], runs });
      }
      const [record] = world.model.records().values();
      longest = Math.max(longest, (record?.stored.numbers.length ?? 0) / 2);
      if (step % 10 === 0) await world.compareStored();
    }
    process.stdout.write(`model: long logs: ${step} steps agree, up to ${longest} entries, seed ${seed}\n`);
    expect(longest).toBeGreaterThan(LONG);
  });
});
