import { expect, it } from "vitest";
import { FLUSHED_SCRIPTS, type FleetFault, STOPPED_REDIS, STOPPED_WORKERS } from "./fleet-faults.ts";
import { type FleetMarks, type FleetRow, rowOf, shortfallsOf } from "./fleet-row.ts";
import { type FleetPlan, playFleet, type WorkloadName } from "./fleet-run.ts";

declare module "vitest" {
  interface TaskMeta {
    fleet?: FleetRow;
  }
}

const SECONDS = 20;
/** A run that misses a mark on a busy machine is played again, so often in all. */
const MOST_ATTEMPTS = 3;
const CALM: FleetMarks = { used: 0.993, callsPerDecision: 0.06 };
const UNDER_FAULTS: FleetMarks = { used: 0.98, callsPerDecision: 0.06 };

const WORKLOADS: readonly WorkloadName[] = ["uniform 2r", "one hot", "moving hot spot"];
const HURT: readonly (readonly [WorkloadName, FleetFault])[] = [
  ...WORKLOADS.map((workload) => [workload, STOPPED_REDIS] as const),
  ["one hot", FLUSHED_SCRIPTS],
  ["moving hot spot", STOPPED_WORKERS],
];

for (const workload of WORKLOADS)
  fleetTest(
    `${workload}: four processes share one limit by leases, and waste next to nothing of it`,
    { workload },
    CALM,
  );

for (const [workload, fault] of HURT)
  fleetTest(`${workload}, ${fault.name}: they do so all the same`, { workload, faults: [fault] }, UNDER_FAULTS);

/** A test that plays a plan and holds it to the marks. `SPILLWAY_SEED` repeats the load of a row and the order of its faults. */
function fleetTest(title: string, plan: Omit<FleetPlan, "seconds" | "seed">, marks: FleetMarks): void {
  it(title, async ({ task }) => {
    for (let attempt = 1; ; attempt++) {
      const seed = Number(process.env.SPILLWAY_SEED ?? Math.floor(2 ** 31 * Math.random()));
      const row = rowOf(await playFleet({ ...plan, seconds: SECONDS, seed }), marks);
      task.meta.fleet = row;
      expect(shortfallsOf(row)).toEqual([]);
      if (row.missed.length === 0 || attempt === MOST_ATTEMPTS) return;
    }
  });
}
