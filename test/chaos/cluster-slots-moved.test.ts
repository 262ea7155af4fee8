import type { ClusterNode } from "@spillway/testkit";
import { expect } from "vitest";
import { degradedIndices } from "./admissions.ts";
import { type ClusterStage, EVERY_SHAPE, isOn, openCluster, slotOf } from "./cluster-stage.ts";
import { pause, type Scene } from "./fault.ts";
import { faultTestOn } from "./fault-test.ts";

/** How long a slot stays half moved: calls for what is gone are told ASK, calls for both halves TRYAGAIN. */
const HALF_MS = 100;
/** Each key has a slot of its own, and so a call; the second node ends with two thirds of them. */
const KEYS_OF_A_NODE = 16;

let movedSlots = new Set<number>();

/** Moves every slot in which a key of the load lies from the first node to the second, key by key. */
async function moveAll({ primaries, adminAt, keys }: Scene<ClusterStage>): Promise<void> {
  const [from, to] = primaries as [ClusterNode, ClusterNode];
  movedSlots = new Set(
    keys
      .map(({ key }) => key)
      .filter((key) => isOn(from, key))
      .map(slotOf),
  );
  for (const slot of movedSlots) {
    await adminAt(to).cluster("SETSLOT", slot, "IMPORTING", from.id);
    await adminAt(from).cluster("SETSLOT", slot, "MIGRATING", to.id);
    for (;;) {
      const left = (await adminAt(from).cluster("GETKEYSINSLOT", slot, 1)) as string[];
      if (left.length === 0) break;
      await adminAt(from).migrate(to.server.host, to.server.port, "", 0, 5_000, "KEYS", ...left);
      await pause(HALF_MS);
    }
    for (const node of [to, from, ...primaries.slice(2)]) await adminAt(node).cluster("SETSLOT", slot, "NODE", to.id);
  }
}

for (const driver of ["ioredis Cluster", "node-redis Cluster"] as const)
  faultTestOn(
    () => openCluster(driver),
    "keys that move to another node are decided there, and nothing is admitted twice (C14)",
    { name: `Cluster slots moved, ${driver}`, tiers: EVERY_SHAPE, begin: moveAll, lastsMs: 0, end() {} },
    { absences: 0, degraded: "perhaps", callsAtOnce: KEYS_OF_A_NODE },
    ({ reports }, quiet) => {
      expect(movedSlots.size).toBeGreaterThan(3);
      if (!quiet) return;
      // Only who asked for two buckets of which one had moved.
      for (const { decisions } of reports)
        for (const i of degradedIndices(decisions))
          expect(decisions.keys[decisions.keyOf[i] as number]).toMatch(/^pair/);
    },
  );
