import type { ClusterNode } from "@spillway/testkit";
import { expect } from "vitest";
import { degradedIndices } from "./admissions.ts";
import { type ClusterStage, EVERY_SHAPE, isOn, openCluster } from "./cluster-stage.ts";
import type { Fault, FaultRun, Scene } from "./fault.ts";
import { faultTestOn } from "./fault-test.ts";

/** Each has a slot of its own, and so a call. */
const KEYS_OF_A_NODE = 16;

let touches: (key: string) => boolean = () => false;

function first({ primaries }: Scene<ClusterStage>): ClusterNode {
  return primaries[0] as ClusterNode;
}

const failover: Omit<Fault<ClusterStage>, "name" | "begin"> = {
  tiers: EVERY_SHAPE,
  touches: (key) => touches(key),
  prepare(scene) {
    touches = (key) => isOn(first(scene), key);
  },
  lastsMs: 0,
  look: (scene) => scene.tookOver(scene.replicaOf(first(scene))),
  end() {},
};
const killed = { ...failover, begin: (scene: Scene<ClusterStage>) => first(scene).server.kill() };

function expectOthersUntouched({ reports, keys }: FaultRun, quiet: boolean): void {
  const count = keys.filter(({ key }) => touches(key)).length;
  expect(count).toBeGreaterThan(3);
  expect(count).toBeLessThanOrEqual(KEYS_OF_A_NODE);
  if (!quiet) return;
  const untouched = reports.flatMap(({ decisions }) =>
    degradedIndices(decisions)
      .map((i) => decisions.keys[decisions.keyOf[i] as number] as string)
      .filter((key) => !touches(key)),
  );
  expect(untouched).toEqual([]);
}

for (const driver of ["ioredis Cluster", "node-redis Cluster"] as const)
  faultTestOn(
    () => openCluster(driver, "no"),
    "keys of a primary that dies are decided by the shares until its replica decides, and no other key notices",
    { ...killed, name: `Cluster primary killed, ${driver}` },
    { absences: "any", forgets: 1, callsAtOnce: KEYS_OF_A_NODE },
    expectOthersUntouched,
  );

faultTestOn(
  () => openCluster("ioredis Cluster"),
  "a cluster that serves nobody while a primary is missing is waited for by nobody",
  { ...killed, name: "Cluster primary killed, full coverage" },
  { absences: "any", forgets: 1, callsAtOnce: KEYS_OF_A_NODE },
);

faultTestOn(
  () => openCluster("ioredis Cluster"),
  "a primary hands over to its replica, and no write is lost",
  {
    ...failover,
    name: "Cluster failover on request",
    begin: (scene) => scene.adminAt(scene.replicaOf(first(scene))).cluster("FAILOVER"),
  },
  { absences: "any", callsAtOnce: KEYS_OF_A_NODE },
  expectOthersUntouched,
);
