import { describe, it } from "vitest";
import { memoryStore } from "../../packages/spillway/src/stores/memory-store.ts";
import { manualClock } from "../../packages/spillway/src/testing/manual-clock.ts";
import type { Mood } from "./plans.ts";
import { requireModel } from "./run-model.ts";
import { SUITES, setups } from "./setups.ts";
import type { Driver } from "./world.ts";

/** A monotonic clock does not go back, and nothing of another's is in this process's memory. */
const MOODS: readonly Mood[] = ["busy", "idle"];

function open(): Driver {
  const clock = manualClock();
  const store = memoryStore({ clock, maxKeys: 100 });
  return {
    store,
    prefix: "memory",
    expires: false,
    nowUs: () => Math.round(clock.wallMs() * 1000),
    move: (us) => clock.advance(us / 1000),
  };
}

describe("memoryStore equals the model in replies", () => {
  it.each(SUITES)("%s", { timeout: 300_000 }, (name, algorithm, leases) =>
    requireModel({ name: `memory, ${name}`, setups: setups(algorithm), plans: { leases, moods: MOODS }, open }),
  );
});
