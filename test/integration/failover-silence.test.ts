import { setTimeout as sleep } from "node:timers/promises";
import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { type FailoverScene, failoverScene, type SceneOptions } from "./failover-scene.ts";

const DEADLINE_MS = 150;
const SCENE: SceneOptions = {
  policies: { name: "second", limit: 1_000, period: "1s" },
  deadlineMs: DEADLINE_MS,
  replicas: 2,
};
const LASTS_MS = 1_200;
/** What a busy machine may be late by. */
const SLACK_MS = 200;

interface Timed {
  readonly decision: Decision;
  readonly startedMs: number;
  readonly tookMs: number;
}

/** 200 decisions a second over ten keys, until told to stop. */
function load({ limiter }: FailoverScene): { stop(): Promise<Timed[]> } {
  const asked: Promise<Timed>[] = [];
  const timer = setInterval(() => {
    const startedMs = performance.now();
    const asking = limiter.consume(`key-${asked.length % 10}`);
    asked.push(asking.then((decision) => ({ decision, startedMs, tookMs: performance.now() - startedMs })));
  }, 5);
  return {
    stop() {
      clearInterval(timer);
      return Promise.all(asked);
    },
  };
}

describe.each<[string, (scene: FailoverScene) => unknown, (scene: FailoverScene) => unknown]>([
  ["is stopped", ({ server }) => server.pause(), ({ server }) => server.resume()],
  ["is told to keep its clients waiting", ({ admin }) => admin.client("PAUSE", LASTS_MS, "ALL"), () => {}],
  ["cannot be reached", ({ proxy }) => proxy.stall(), ({ proxy }) => proxy.resume()],
])("a store that %s", (_, begin, end) => {
  it("costs three calls and is left alone, with one line each way", { timeout: 30_000 }, async () => {
    const scene = await failoverScene(SCENE);
    await scene.back();
    const running = load(scene);
    await sleep(300);
    const beganMs = performance.now();
    await begin(scene);
    await sleep(LASTS_MS);
    const endingMs = performance.now();
    await end(scene);
    await scene.back();
    const timed = await running.stop();
    expect(scene.limiter.stats().storeMisses).toBeLessThanOrEqual(3);
    expect(scene.changes.map(({ state }) => state)).toEqual(["away", "back"]);
    for (const { tookMs } of timed) expect(tookMs).toBeLessThan(DEADLINE_MS + SLACK_MS);
    const away = timed.filter(
      ({ startedMs }) => startedMs > beganMs + 2 * DEADLINE_MS + SLACK_MS && startedMs < endingMs,
    );
    expect(away.length).toBeGreaterThan(20);
    for (const { decision } of away) expect(decision.source).toBe("backstop");
  });
});

it("a store that answers after 200 ms decides nothing, and the health view says why", { timeout: 30_000 }, async () => {
  const scene = await failoverScene({ ...SCENE, deadlineMs: 50 });
  const { proxy, limiter, changes, back } = scene;
  await back();
  proxy.delay(100);
  const running = load(scene);
  await sleep(1_000);
  expect(limiter.consumeNow("key-1")).toMatchObject({ degraded: true });
  const { degraded, nodes, warnings } = limiter.stats().health;
  expect([degraded, nodes[0]?.state, nodes[0]?.reason]).toEqual([true, "away", "no reply within the deadline"]);
  expect(warnings.join()).toMatch(/take up to [2-9]\d\d\.\d ms: the deadline of 50 ms should be at least twice that/);
  await running.stop();
  proxy.delay(0);
  await back();
  expect(limiter.stats().health).toMatchObject({ degraded: false, warnings: [] });
  expect(changes.map(({ state }) => state).slice(-2)).toEqual(["away", "back"]);
});

it("an event loop that was busy for longer than the deadline is not blamed on the store", async () => {
  const scene = await failoverScene({ ...SCENE, lease: false, direct: true, deadlineMs: 400 });
  const { limiter, changes, back } = scene;
  await back();
  const before = limiter.stats().storeMisses;
  const asked = Array.from({ length: 10 }, (_, i) => limiter.consume(`key-${i}`));
  await new Promise(setImmediate); // The call has left.
  const untilMs = performance.now() + 1_200;
  while (performance.now() < untilMs);
  for (const decision of await Promise.all(asked)) expect(decision).toMatchObject({ source: "backstop" });
  await back();
  expect([limiter.stats().storeMisses - before, changes, limiter.stats().health.warnings]).toEqual([0, [], []]);
});
