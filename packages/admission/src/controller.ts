import type { Clock } from "spillway";
import { onAbort } from "spillway/kit";
import { type AdmissionTuning, type ResolvedAdmissionOptions, tuned } from "./admission-options.ts";
import { type AcquireOptions, type Ask, askOf } from "./ask.ts";
import { Line } from "./line.ts";
import { HeldPermit, type Permit, type PermitOwner, type WorkOutcome } from "./permit.ts";
import { Queue } from "./queue.ts";
import { Room } from "./room.ts";
import type { Shed, ShedReason } from "./shed.ts";
import { Shedding } from "./shedding.ts";
import { type AdmissionStats, Counters } from "./stats.ts";
import { Turns } from "./turns.ts";
import { WaitTimer } from "./wait-timer.ts";
import { type Answer, Waiter, type WaiterOwner } from "./waiter.ts";
import { WorkEstimate } from "./work-estimate.ts";

/**
 * Drives the line: it alone reads the clock, sets the timer and answers. Whoever starts does so one turn of the event loop
 * after there is room, so that the loop has read, and turned away, what has arrived meanwhile.
 */
export class Controller implements PermitOwner, WaiterOwner {
  readonly #clock: Clock;
  readonly #line: Line;
  readonly #room: Room;
  readonly #counters: Counters = new Counters();
  readonly #shedding: Shedding;
  readonly #timer: WaitTimer;
  readonly #turns: Turns;
  /** How long work takes by itself: what a deadline is held against. */
  readonly #work: WorkEstimate;
  /** How long slots are held: what makes the line move. */
  readonly #hold: WorkEstimate;
  /** Those who have slots and start in a turn of their own, oldest first. Some may have left. */
  readonly #starting: Queue<Waiter> = new Queue();
  readonly #startSoon: () => void;
  readonly #handOverSoon: () => void;
  /** Turns on their way in which the next of the line goes in. */
  #handovers = 0;
  #isClosed = false;

  /** @param line for tests, which show that one that leaks is found out. */
  constructor(options: ResolvedAdmissionOptions, line: Line = new Line()) {
    this.#clock = options.clock;
    this.#line = line;
    this.#work = new WorkEstimate(options.guessMs);
    this.#hold = new WorkEstimate(options.guessMs);
    this.#room = new Room(options.settings, line, this.#hold);
    this.#shedding = new Shedding(this.#counters, options.random);
    this.#timer = new WaitTimer(options.clock, () => this.#expire());
    this.#turns = new Turns(options.clock);
    this.#startSoon = this.#turns.of((nowMs) => this.#startFirst(nowMs));
    this.#handOverSoon = this.#turns.of((nowMs) => this.#handOver(nowMs));
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /**
   * Answers at once where nothing has to wait, and gives `undefined`; else gives the waiter that will be answered.
   * @throws TypeError | RangeError for bad options; nothing was counted then.
   */
  enter(options: AcquireOptions | undefined, answer: Answer): Waiter | undefined {
    this.#turns.arrived();
    const nowMs = this.nowMs();
    const ask = askOf(options, nowMs, this.#room.settings.slots);
    if (ask.isRepeated) this.#counters.repeated++;
    const verdict = this.#judge(ask, nowMs);
    if (verdict === "start") return this.#start(ask, answer, nowMs);
    if (verdict === "wait" && this.#makeRoom(ask, nowMs)) return this.#join(ask, answer, nowMs);
    if (verdict === "in") hand(answer, this.#letIn(ask, nowMs));
    else answer(verdict === "wait" ? this.#lineFull(ask, nowMs) : this.#shed(verdict, ask, nowMs));
    return undefined;
  }

  /**
   * Decides without a turn in between where nothing has to wait; `undefined` means that it would, and that nothing was counted.
   * @throws TypeError | RangeError for bad options.
   */
  enterNow(options: AcquireOptions | undefined): Permit | Shed | undefined {
    const nowMs = this.nowMs();
    const ask = askOf(options, nowMs, this.#room.settings.slots);
    const answer = this.#answerNow(ask, nowMs);
    if (ask.isRepeated && answer !== undefined) this.#counters.repeated++;
    return answer;
  }

  #answerNow(ask: Ask, nowMs: number): Permit | Shed | undefined {
    const verdict = this.#judge(ask, nowMs);
    if (verdict === "in" || verdict === "start") return this.#letIn(ask, nowMs);
    if (verdict !== "wait") return this.#shed(verdict, ask, nowMs);
    const isNewestFirst = this.#room.newestFirst(nowMs);
    const capacity = this.#room.capacity(isNewestFirst);
    const waits = this.#room.mayWait(ask.cost, capacity) || this.#room.makesRoom(isNewestFirst, capacity);
    return waits ? undefined : this.#lineFull(ask, nowMs);
  }

  /** One who leaves gets no answer. */
  leave(waiter: Waiter): void {
    this.#cancel(waiter);
  }

  takeBack(permit: HeldPermit, outcome: WorkOutcome): void {
    const nowMs = this.nowMs();
    this.#room.active -= permit.cost;
    const heldMs = nowMs - permit.startedMs;
    const endedMs = permit.workEndedMs ?? nowMs;
    if (outcome === "abandoned" || permit.signal?.aborted === true) {
      this.#counters.wasted++;
      this.#hold.recordUnended(heldMs);
    } else {
      this.#hold.record(heldMs);
      if (outcome !== "failed") {
        this.#work.record(endedMs - permit.startedMs);
        if (endedMs > permit.deadlineAtMs) this.#counters.late++;
      }
    }
    this.#setTimer(nowMs);
    this.#handOverWhereFree(nowMs);
  }

  tune(changes: AdmissionTuning): void {
    this.#room.settings = tuned(this.#room.settings, changes);
    const nowMs = this.nowMs();
    if (this.#room.settings.mode !== "enforce") {
      while (this.#line.oldest !== undefined) this.#letInFromLine(this.#line.oldest, this.#line.oldest.ask.cost, nowMs);
    }
    this.#lineChanged(nowMs);
  }

  stats(): AdmissionStats {
    const { mode, slots } = this.#room.settings;
    const { admitted, peakWaiting, shed, wouldShed, wasted, late, repeated } = this.#counters;
    const newestFirst = this.#room.newestFirst(this.nowMs());
    return {
      ...{ mode, slots, active: this.#room.active, waiting: this.#line.items, peakWaiting },
      ...{ lineCapacity: this.#room.capacity(newestFirst), newestFirst },
      ...{ admitted, shed: { ...shed }, wouldShed: { ...wouldShed }, wasted, late, repeated },
      ...{ workMs: this.#work.ms, holdMs: this.#hold.ms, waits: this.#counters.waits() },
    };
  }

  /** Turns away the line and all who come from now on. */
  close(): void {
    this.#isClosed = true;
    const nowMs = this.nowMs();
    while (this.#line.oldest !== undefined) this.#turnAway(this.#line.oldest, "closed", nowMs);
    this.#lineChanged(nowMs);
  }

  /** What is to be done with a request: let in as it is, start, wait (where there is room), or turn away. */
  #judge(ask: Ask, nowMs: number): "in" | "start" | "wait" | ShedReason {
    const { mode } = this.#room.settings;
    if (this.#isClosed) return "closed";
    if (mode !== "enforce") {
      if (mode === "observe") this.#observe(ask, nowMs);
      return "in";
    }
    if (ask.signal?.aborted === true) return "cancelled";
    if (ask.deadlineAtMs <= nowMs) return "deadline";
    // Slots that stand idle are given away whatever the estimate says: else a wrong one would never be put right.
    if (this.#room.excess(ask.cost) <= 0) return "start";
    return nowMs + this.#work.ms > ask.deadlineAtMs ? "deadline" : "wait";
  }

  #letIn(ask: Ask, nowMs: number): HeldPermit {
    this.#room.active += ask.cost;
    return this.#permit(ask, ask.cost, 0, nowMs);
  }

  #permit(ask: Ask, cost: number, waitedMs: number, nowMs: number): HeldPermit {
    this.#counters.admit(waitedMs);
    return new HeldPermit(this, cost, waitedMs, nowMs, ask.deadlineAtMs, ask.signal);
  }

  #start(ask: Ask, answer: Answer, nowMs: number): Waiter {
    const waiter = this.#waiter(ask, answer, nowMs, Number.POSITIVE_INFINITY);
    this.#room.active += ask.cost;
    this.#starting.add(waiter);
    this.#startSoon();
    return waiter;
  }

  #startFirst(nowMs: number): void {
    const waiter = this.#starting.take();
    if (waiter?.state !== "starting") return;
    waiter.state = "answered";
    const { ask } = waiter;
    if (ask.deadlineAtMs > nowMs) {
      this.#tell(waiter, this.#permit(ask, ask.cost, nowMs - waiter.arrivedMs, nowMs));
      return;
    }
    this.#room.active -= ask.cost;
    this.#tell(waiter, this.#shed("deadline", ask, nowMs));
    this.#handOverWhereFree(nowMs);
  }

  #join(ask: Ask, answer: Answer, nowMs: number): Waiter {
    const waiter = this.#waiter(ask, answer, nowMs, nowMs + this.#room.settings.waitMs);
    this.#line.add(waiter);
    this.#counters.peakWaiting = Math.max(this.#counters.peakWaiting, this.#line.items);
    this.#lineChanged(nowMs);
    return waiter;
  }

  #waiter(ask: Ask, answer: Answer, nowMs: number, dueMs: number): Waiter {
    const waiter = new Waiter(this, ask, answer, nowMs, dueMs);
    if (ask.signal === undefined) return waiter;
    waiter.stopWatching = onAbort(ask.signal, () => {
      const shed = this.#cancel(waiter);
      if (shed !== undefined) this.#tell(waiter, shed);
    });
    return waiter;
  }

  /** Whether one more finds a place to wait. Where who came last goes first, who came first makes room. */
  #makeRoom(ask: Ask, nowMs: number): boolean {
    const isNewestFirst = this.#room.newestFirst(nowMs);
    const capacity = this.#room.capacity(isNewestFirst);
    while (!this.#room.mayWait(ask.cost, capacity)) {
      if (!this.#room.makesRoom(isNewestFirst, capacity)) return false;
      this.#turnAway(this.#line.oldest as Waiter, "line_full", nowMs);
    }
    return true;
  }

  #handOverWhereFree(nowMs: number): void {
    const { settings, active } = this.#room;
    while (this.#handovers < this.#line.items && this.#handovers < settings.slots - active) {
      const next = this.#room.next(nowMs);
      if (next === undefined || !this.#room.fits(next)) return;
      this.#handovers++;
      this.#handOverSoon();
    }
  }

  #handOver(nowMs: number): void {
    this.#handovers--;
    for (let next = this.#room.next(nowMs); next !== undefined; next = this.#room.next(nowMs)) {
      const reason = this.#whyNot(next, nowMs);
      if (reason === undefined) {
        if (this.#room.fits(next)) this.#letInFromLine(next, this.#room.costOf(next), nowMs);
        break;
      }
      this.#turnAway(next, reason, nowMs);
    }
    this.#lineChanged(nowMs);
  }

  #letInFromLine(waiter: Waiter, cost: number, nowMs: number): void {
    this.#line.remove(waiter);
    this.#room.active += cost;
    this.#tell(waiter, this.#permit(waiter.ask, cost, nowMs - waiter.arrivedMs, nowMs));
  }

  /** Why one whose turn it is is not let in. */
  #whyNot({ ask, arrivedMs, dueMs }: Waiter, nowMs: number): ShedReason | undefined {
    // As in the line: an answer at the deadline is none.
    if (ask.deadlineAtMs - this.#work.ms <= nowMs) return "deadline";
    return dueMs <= nowMs && arrivedMs <= nowMs ? "waited_too_long" : undefined;
  }

  #expire(): void {
    const nowMs = this.nowMs();
    const hopeless = (): Waiter | undefined => this.#line.takeHopeless(nowMs, this.#work.ms);
    for (let one = hopeless(); one !== undefined; one = hopeless()) this.#turnAway(one, "deadline", nowMs);
    const due = (): Waiter | undefined => this.#line.takeDue(nowMs);
    for (let one = due(); one !== undefined; one = due()) this.#turnAway(one, "waited_too_long", nowMs);
    this.#lineChanged(nowMs);
  }

  #turnAway(waiter: Waiter, reason: ShedReason, nowMs: number): void {
    this.#line.remove(waiter);
    this.#room.noteRefusal();
    this.#tell(waiter, this.#shed(reason, waiter.ask, nowMs));
  }

  #lineFull(ask: Ask, nowMs: number): Shed {
    this.#room.noteRefusal();
    return this.#shed("line_full", ask, nowMs);
  }

  /** After each change of the line. */
  #lineChanged(nowMs: number): void {
    this.#room.note(nowMs);
    this.#setTimer(nowMs);
    this.#handOverWhereFree(nowMs);
  }

  /** After each change of the line, and of what work takes. */
  #setTimer(nowMs: number): void {
    this.#timer.set(this.#line.nextDueMs(this.#work.ms), nowMs);
  }

  /** Takes away one that has no answer yet, and passes its slots on. */
  #cancel(waiter: Waiter): Shed | undefined {
    if (waiter.state === "answered") return undefined;
    const nowMs = this.nowMs();
    if (waiter.state === "waiting") this.#line.remove(waiter);
    else this.#room.active -= waiter.ask.cost;
    waiter.state = "answered";
    waiter.stopWatching?.();
    const shed = this.#shed("cancelled", waiter.ask, nowMs);
    this.#lineChanged(nowMs);
    return shed;
  }

  /** What an answer throws is nobody's to catch here: it must not keep others from theirs. */
  #tell(waiter: Waiter, answer: Permit | Shed): void {
    waiter.stopWatching?.();
    try {
      hand(waiter.answer, answer);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #shed(reason: ShedReason, ask: Ask, nowMs: number): Shed {
    return this.#shedding.refuse(reason, ask, this.#room, nowMs, this.#line.cost);
  }

  /** Counts what would have become of a request whose predecessors had waited too. */
  #observe(ask: Ask, nowMs: number): void {
    const beyond = this.#room.excess(ask.cost);
    const waitMs = Math.max(0, beyond) * this.#room.slotMs;
    const { lineItems, waitMs: mostMs } = this.#room.settings;
    const { wouldShed } = this.#counters;
    if (ask.deadlineAtMs <= nowMs) wouldShed.deadline++;
    else if (beyond <= 0) return;
    else if (beyond > this.#room.capacity(false) || beyond > lineItems) wouldShed.line_full++;
    else if (waitMs > mostMs) wouldShed.waited_too_long++;
    else if (nowMs + waitMs + this.#work.ms > ask.deadlineAtMs) wouldShed.deadline++;
  }
}

/** Whoever throws in place of working gives its slots back. */
function hand(to: Answer, answer: Permit | Shed): void {
  try {
    to(answer);
  } catch (error) {
    if (answer.admitted) answer.release("failed");
    throw error;
  }
}
