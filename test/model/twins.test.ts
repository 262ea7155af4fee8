import { describe, expect, it } from "vitest";
import { ownRedis } from "../support/redis-fixture.ts";
import { runModel } from "./run-model.ts";
import { setups } from "./setups.ts";
import { openTimed } from "./timed-driver.ts";
import { TimedRedisStore } from "./timed-redis.ts";
import { mistaken, TWINS, type Twin } from "./twins.ts";

const MOST_STEPS = 20_000;

const redis = ownRedis();

describe("the model test finds a script in which", () => {
  it.each(TWINS.map((twin) => [twin.mistake, twin] as const))("%s", { timeout: 120_000 }, async (mistake, twin) => {
    const openStore = await TimedRedisStore.load(redis.client, mistaken(twin));
    const { failure, steps } = await runModel({
      name: mistake,
      setups: setups(twin.algorithm ?? "token-bucket"),
      plans: { leases: twin.leases, moods: ["busy", "idle", "backward"] },
      open: () => openTimed(openStore),
      steps: MOST_STEPS,
      endOnFailure: true,
    });
    expect(failure, `no difference in ${steps} steps`).toBeDefined();
    // A script that does not run at all would be found by any test.
    expect(failure).not.toMatch(/user_script|ReplyError/);
  });
});

it("a difference is shown as the shortest run that has one, step by step", { timeout: 120_000 }, async () => {
  const twin = TWINS.find(({ mistake }) => mistake.startsWith("an ask is served in part")) as Twin;
  const openStore = await TimedRedisStore.load(redis.client, mistaken(twin));
  const { failure } = await runModel({
    name: twin.mistake,
    setups: setups("token-bucket"),
    plans: { leases: false, moods: ["busy"] },
    open: () => openTimed(openStore),
    steps: MOST_STEPS,
    seed: 1,
  });
  expect(failure).toMatch(/seed: \d+, path: "/);
  const steps = (failure ?? "").split("\n").filter((line) => /^ +[+-]\d+ us: /.test(line));
  expect(steps.length).toBeLessThanOrEqual(4);
  expect(steps.join("\n")).toMatch(/\+\d+ us: take from #0 key-\d\/(first|second)\(.*\): \d+ x \d+ of #0/);
});
