import type { Clock } from "../../clock.ts";
import { type Phase, ReplicaShares, type ShareUser } from "../../failover/replica-shares.ts";
import { memoryStore } from "../../stores/memory-store.ts";
import type { Allotment, Beat, Store } from "../../stores/store.ts";
import { type ManualClock, manualClock } from "../manual-clock.ts";

/** Where beats go; on the fleet's clock. */
export type AllotShares = (beat: Beat, nowMs: number) => Allotment;

/** What becomes of one beat on its way. Times in ms. */
export interface BeatFate {
  readonly requestMs: number;
  readonly replyMs: number;
  readonly isRequestLost: boolean;
  readonly isReplyLost: boolean;
  /** When the same beat arrives once more, if it does. */
  readonly againMs: number | undefined;
}

export const SWIFT: BeatFate = {
  requestMs: 0,
  replyMs: 0,
  isRequestLost: false,
  isReplyLost: false,
  againMs: undefined,
};

/** One process of a {@link ShareFleet}. */
export class ShareProcess implements ShareUser {
  readonly replicas: number;
  readonly clock: ManualClock = manualClock();
  readonly shares: ReplicaShares;
  /** Decisions a second that are asked of it. */
  perSecond = 0;
  sleeps = false;
  hasCallersWaiting = false;
  /** What its limiter says of the store. */
  state: Phase = "ready";
  beats = 0;
  #decided = 0;
  #stoppedUntilMs = 0;

  constructor(replicas: number, send: (beat: Beat) => Promise<Allotment>) {
    this.replicas = replicas;
    const allotShares = (beat: Beat): Promise<Allotment> => {
      this.beats++;
      return send(beat);
    };
    const store: Store = Object.assign(memoryStore({ clock: this.clock }), { allotShares });
    this.shares = new ReplicaShares(store, this.#seenClock());
    this.shares.join(this);
  }

  /** The clock, but for the timers that it runs after a time in which the process was stopped: they see when that ended. */
  #seenClock(): Clock {
    const { clock } = this;
    const aheadMs = (): number => Math.max(0, this.#stoppedUntilMs - clock.monotonicMs());
    return {
      ...clock,
      monotonicMs: () => clock.monotonicMs() + aheadMs(),
      wallMs: () => clock.wallMs() + aheadMs(),
      startTimer: (run, delayMs, keepAlive) => clock.startTimer(run, delayMs + aheadMs(), keepAlive),
    };
  }

  decided(): number {
    return this.#decided;
  }

  awaySinceMs(): undefined {}

  phase(): Phase {
    return this.state;
  }

  /** Lets time pass at once, in which it was stopped. */
  wakeAfter(ms: number): void {
    this.#stoppedUntilMs = this.clock.monotonicMs() + ms;
    this.clock.advance(ms);
  }

  /** Lets time pass, in which it works as much as is asked of it. */
  advance(ms: number): void {
    if (this.sleeps) return;
    this.clock.advance(ms);
    this.#decided += (this.perSecond * ms) / 1000;
    if (this.perSecond > 0) this.shares.noteAtWork();
  }
}

/** Processes that share limits by one ledger, with a way to it on which things go wrong. */
export class ShareFleet {
  readonly processes: ShareProcess[] = [];
  readonly #allot: AllotShares;
  readonly #fateOf: () => BeatFate;
  readonly #events: { readonly atMs: number; run(): void }[] = [];
  nowMs = 1_000_000;

  constructor(allot: AllotShares, fateOf: () => BeatFate = () => SWIFT) {
    this.#allot = allot;
    this.#fateOf = fateOf;
  }

  start(perSecond: number, replicas = 1): ShareProcess {
    const process = new ShareProcess(replicas, (beat) => this.#send(beat));
    process.perSecond = perSecond;
    this.processes.push(process);
    return process;
  }

  /** It is gone, and says nothing of it. */
  crash(process: ShareProcess): void {
    this.processes.splice(this.processes.indexOf(process), 1);
  }

  /** Lets time pass in steps of `stepMs`. `look` is called after each. */
  async pass(ms: number, stepMs = 50, look: () => void = () => {}): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.nowMs += stepMs;
      for (const process of this.processes) process.advance(stepMs);
      await this.#deliver();
      look();
    }
  }

  /** What all that run may use, by what the store has allotted to them, if it went away now. */
  get sum(): number {
    const awake = this.processes.filter(({ sleeps }) => !sleeps);
    return awake.reduce((sum, { shares, clock }) => sum + (shares.allotted(clock.monotonicMs()) ?? 0), 0);
  }

  #send(beat: Beat): Promise<Allotment> {
    const { requestMs, replyMs, isRequestLost, isReplyLost, againMs } = this.#fateOf();
    return new Promise((resolve) => {
      const arrive = (): void => {
        const reply = this.#allot(beat, Math.floor(this.nowMs));
        if (!isReplyLost) this.#events.push({ atMs: this.nowMs + replyMs, run: () => resolve(reply) });
      };
      if (!isRequestLost) this.#events.push({ atMs: this.nowMs + requestMs, run: arrive });
      if (againMs !== undefined) this.#events.push({ atMs: this.nowMs + againMs, run: arrive });
    });
  }

  async #deliver(): Promise<void> {
    for (let at = this.#nextDue(); at >= 0; at = this.#nextDue()) {
      this.#events.splice(at, 1)[0]?.run();
      for (let hop = 0; hop < 4; hop++) await undefined;
    }
  }

  #nextDue(): number {
    return this.#events.findIndex(({ atMs }) => atMs <= this.nowMs);
  }
}
