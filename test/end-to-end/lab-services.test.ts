import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import type { Protection, ServicePlan } from "../../bench/experiments/load/plan.ts";

/** Compiled: the service forks a process of its own from the file beside it. */
async function compiled<T>(name: string): Promise<T> {
  const path = join(import.meta.dirname, "../../bench/dist/experiments/load", `${name}.js`);
  return (await import(pathToFileURL(path).href)) as T;
}
const { Service } = await compiled<typeof import("../../bench/experiments/load/service.ts")>("service");
const { offerLoad } = await compiled<typeof import("../../bench/experiments/load/open-loop.ts")>("open-loop");

const sleepy = { kind: "sleep", ms: 20, slots: 2 } as const;
const ours: Protection = { kind: "spillway", admission: { slots: 2, guessMs: 20, lineMs: 40 } };

const PLANS: readonly (readonly [string, ServicePlan, boolean])[] = [
  ["no protection", { form: "node:http", protection: { kind: "none" }, work: sleepy }, false],
  ["ours on node:http", { form: "node:http", protection: ours, work: sleepy }, true],
  ["ours on Fastify", { form: "fastify", protection: ours, work: sleepy }, true],
  ["ours before work that computes", { form: "node:http", protection: ours, work: { kind: "compute", ms: 5 } }, true],
  [
    "@fastify/under-pressure",
    { form: "fastify", protection: { kind: "under-pressure", maxEventLoopDelayMs: 1000, sampleMs: 100 }, work: sleepy },
    false,
  ],
  ["bulkhead", { form: "node:http", protection: { kind: "bulkhead", slots: 2, line: 4 }, work: sleepy }, true],
  ["opossum", { form: "node:http", protection: { kind: "opossum", slots: 2 }, work: sleepy }, true],
  ["p-queue", { form: "fastify", protection: { kind: "p-queue", slots: 2 }, work: sleepy }, false],
];

it.each(PLANS)("the lab's service with %s answers what it can, and ends", async (_name, plan, sheds) => {
  const { phase, finished, health } = await Service.with(plan, async (service) => {
    const load = { phases: [{ name: "flood", perSecond: 400, seconds: 0.5 }], patienceMs: 20_000 };
    const result = await offerLoad({ ...load, url: service.url });
    const one = { phases: [{ name: "health", perSecond: 10, seconds: 0.1 }], patienceMs: 20_000 };
    const healthy = await offerLoad({ ...one, url: `${service.url}health` });
    const { finished } = await service.stats();
    return { phase: result.phases[0], finished, health: healthy.phases[0]?.served };
  });
  const { served = 0, shed = 0, timedOut = 0, failed = 0, late = 0, offered } = phase ?? {};
  expect(offered).toBe(200);
  expect(served + shed + timedOut + failed + late).toBe(200);
  expect(failed).toBe(0);
  expect(served).toBeGreaterThan(0);
  expect(shed > 0).toBe(sheds);
  expect(finished).toBeGreaterThanOrEqual(served);
  expect(health).toBe(1);
});

it("a service whose process ends says so in place of waiting for ever", async () => {
  const plan = { form: "node:http", protection: PLANS[4]?.[1].protection ?? ours, work: sleepy } as const;
  await expect(Service.start(plan)).rejects.toThrow("needs the form fastify");
});
