import { randomUUID } from "node:crypto";
import {
  type Adjustment,
  type MemoryStore,
  memoryStore,
  type PeekReply,
  type Store,
  type TakeCall,
  type TakeReply,
} from "spillway";
import type { AdmissionRecord } from "./admission-record.ts";
import type { Random } from "./random.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import type { VirtualLoop } from "./virtual-loop.ts";

export interface NetworkFaults {
  /** Chances from 0 to 1, per call. */
  readonly lostRequest: number;
  readonly lostReply: number;
  readonly doubled: number;
}

/** The one store that all replicas ask: the model of the store, on a clock of its own. */
export class SharedStore {
  readonly #store: MemoryStore;
  readonly #record: AdmissionRecord;
  readonly #heardMs = new Map<string, number>();
  calls = 0;
  /** Whether calls are left unanswered. */
  stalled = false;

  constructor(clock: VirtualClock, record: AdmissionRecord) {
    this.#store = memoryStore({ clock, maxKeys: 10 });
    this.#record = record;
  }

  adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return this.#store.adjust(adjustments);
  }

  /** The processes heard of within `lifeMs`. */
  countReplicas(id: string, lifeMs: number, nowMs: number): number {
    this.#heardMs.set(id, nowMs);
    return Array.from(this.#heardMs.values()).filter((atMs) => nowMs - atMs < lifeMs).length;
  }

  /** Executes a call now; what it serves counts as admitted now, whether or not the reply arrives. */
  execute(call: TakeCall, nowMs: number): TakeReply {
    this.calls++;
    const reply = this.#store.takeNow(call);
    for (const [i, run] of call.runs.entries())
      this.#record.admit(nowMs, (reply.served[i] as number) * (run.charges[0]?.cost ?? 0));
    return structuredClone(reply);
  }
}

/** How one replica reaches the shared store: half a round trip there, half back, and things go wrong on the way. */
export function networkStore(
  loop: VirtualLoop,
  clock: VirtualClock,
  shared: SharedStore,
  roundTripMs: () => number,
  faults: NetworkFaults,
  random: Random,
): Store {
  const never = (): Promise<never> => Promise.reject(new Error("The simulator only takes."));
  // All replicas run in this process, whose id the limiter would give.
  const replicaId = randomUUID();
  /** A call of another kind than take, on the same road. */
  const reach = <T>(execute: () => T | Promise<T>): Promise<T> =>
    new Promise((resolve) => {
      if (random() < faults.lostRequest) return;
      loop.after(roundTripMs() / 2, () => {
        if (shared.stalled) return;
        const result = execute();
        if (random() < faults.lostReply) return;
        loop.after(roundTripMs() / 2, () => clock.whenAwake(() => resolve(result)));
      });
    });
  return {
    name: "simulated",
    take: (call) =>
      new Promise((resolve) => {
        const half = roundTripMs() / 2;
        if (random() < faults.lostRequest) return;
        loop.after(half, () => {
          if (shared.stalled) return;
          const reply = shared.execute(call, loop.nowMs);
          if (random() < faults.doubled) loop.after(roundTripMs(), () => shared.execute(call, loop.nowMs));
          if (random() < faults.lostReply) return;
          loop.after(half, () => clock.whenAwake(() => resolve(reply)));
        });
      }),
    countReplicas: (_id, lifeMs) => reach(() => shared.countReplicas(replicaId, lifeMs, loop.nowMs)),
    adjust: (adjustments) => reach(() => shared.adjust(adjustments)),
    peek: never,
    reset: never,
    close: async () => {},
  };
}
