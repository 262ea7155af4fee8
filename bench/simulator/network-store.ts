import {
  type Adjustment,
  type Allotment,
  type Beat,
  type MemoryStore,
  memoryStore,
  type PeekReply,
  type Store,
  type TakeCall,
  type TakeReply,
} from "spillway";
import type { Random } from "./random.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import type { VirtualLoop } from "./virtual-loop.ts";
import type { Record } from "./window-record.ts";

/** What stands for the script that allots shares. */
export type ShareModel = (beat: Beat, nowMs: number) => Allotment;

export interface NetworkFaults {
  /** Chances from 0 to 1, per call. */
  readonly lostRequest: number;
  readonly lostReply: number;
  readonly doubled: number;
}

/** What goes wrong on the way of calls that decide (which may depend on the time), and of beats and reports. */
export interface RoadFaults {
  calls(nowMs: number): NetworkFaults;
  readonly words: NetworkFaults;
}

/** The one store that all replicas ask: the model of the store, on a clock of its own. */
export class SharedStore {
  readonly #store: MemoryStore;
  readonly #record: Record | undefined;
  readonly #allot: ShareModel;
  calls = 0;
  beats = 0;
  /** Calls that ask how a bucket stands and take nothing. */
  probes = 0;
  /** Whether calls are left unanswered. */
  stalled = false;
  /** What has reached it since it stands still. */
  #putOff: (() => void)[] | undefined;

  /** @param record what is served is noted there; left out where replicas note what they admit. */
  constructor(clock: VirtualClock, record: Record | undefined, allot: ShareModel) {
    this.#allot = allot;
    this.#store = memoryStore({ clock, maxKeys: 10 });
    this.#record = record;
  }

  /** Nothing is done until `wake`, and then all that has come. */
  standStill(): void {
    this.#putOff ??= [];
  }

  wake(): void {
    const due = this.#putOff ?? [];
    this.#putOff = undefined;
    for (const run of due) run();
  }

  /** Something has reached it. */
  receive(run: () => void): void {
    if (this.stalled) return;
    if (this.#putOff === undefined) run();
    else this.#putOff.push(run);
  }

  adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return this.#store.adjust(adjustments);
  }

  allotShares(beat: Beat, nowMs: number): Allotment {
    this.beats++;
    return this.#allot(beat, Math.floor(nowMs));
  }

  /** Executes a call now; what it serves counts as admitted now, whether or not the reply arrives. */
  execute(call: TakeCall, nowMs: number): TakeReply {
    this.calls++;
    const reply = this.#store.takeNow(call);
    for (const [i, run] of call.runs.entries())
      this.#record?.admit(nowMs, (reply.served[i] as number) * (run.charges[0]?.cost ?? 0));
    return structuredClone(reply);
  }
}

/** How one replica reaches the shared store: half a round trip there, half back, and things go wrong on the way. */
export function networkStore(
  loop: VirtualLoop,
  clock: VirtualClock,
  shared: SharedStore,
  roundTripMs: () => number,
  faults: RoadFaults,
  random: Random,
): Store {
  const never = (): Promise<never> => Promise.reject(new Error("The simulator only takes."));
  /** A call of another kind than take, on the same road. */
  const reach = <T>(execute: () => T | Promise<T>): Promise<T> =>
    new Promise((resolve) => {
      const { lostRequest, lostReply, doubled } = faults.words;
      if (random() < lostRequest) return;
      const serve = (): void => {
        const result = execute();
        if (random() < doubled) loop.after(roundTripMs(), () => void execute());
        if (random() < lostReply) return;
        loop.after(roundTripMs() / 2, () => clock.whenAwake(() => resolve(result)));
      };
      loop.after(roundTripMs() / 2, () => shared.receive(serve));
    });
  return {
    name: "simulated",
    take: (call) =>
      new Promise((resolve) => {
        const half = roundTripMs() / 2;
        const { lostRequest, lostReply, doubled } = faults.calls(loop.nowMs);
        if (isProbe(call)) shared.probes++;
        if (random() < lostRequest) return;
        const serve = (): void => {
          const reply = shared.execute(call, loop.nowMs);
          if (random() < doubled) loop.after(roundTripMs(), () => shared.execute(call, loop.nowMs));
          if (random() < lostReply) return;
          loop.after(half, () => clock.whenAwake(() => resolve(reply)));
        };
        loop.after(half, () => shared.receive(serve));
      }),
    allotShares: (beat) => reach(() => shared.allotShares(beat, loop.nowMs)),
    adjust: (adjustments) => reach(() => shared.adjust(adjustments)),
    block: never,
    peek: never,
    reset: never,
    close: async () => {},
  };
}

function isProbe({ buckets, runs }: TakeCall): boolean {
  return runs.length === 0 && buckets.every(({ report }) => report === undefined);
}
