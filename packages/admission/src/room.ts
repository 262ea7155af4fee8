import type { AdmissionSettings } from "./admission-options.ts";
import type { Line } from "./line.ts";
import { LineOrder, lineCapacity, overloadedLineMs } from "./line-order.ts";
import type { Waiter } from "./waiter.ts";
import type { WorkEstimate } from "./work-estimate.ts";

/**
 * Who has room, at work and in the line. Slots, costs and capacities are in the same unit: one slot. It is told what time it is.
 */
export class Room {
  settings: AdmissionSettings;
  /** Slots that are taken. */
  active = 0;
  readonly #line: Line;
  readonly #hold: WorkEstimate;
  readonly #order: LineOrder = new LineOrder();

  /** @param hold how long slots are held. */
  constructor(settings: AdmissionSettings, line: Line, hold: WorkEstimate) {
    this.settings = settings;
    this.#line = line;
    this.#hold = hold;
  }

  /** The time between two slots that free, on average. */
  get slotMs(): number {
    return this.#hold.ms / this.settings.slots;
  }

  /** Tells that the line has changed. */
  note(nowMs: number): void {
    this.#order.note(this.#line.items === 0, nowMs, this.slotMs);
  }

  /** Tells that somebody found no place in the line, or had to leave it. */
  noteRefusal(): void {
    this.#order.noteRefusal();
  }

  newestFirst(nowMs: number): boolean {
    const { order, lineMs, waitMs } = this.settings;
    // Where a wait has an end in time, those who reach it say when the line does not hold.
    const isEndless = lineMs === Number.POSITIVE_INFINITY && waitMs === Number.POSITIVE_INFINITY;
    const endlessMs = isEndless ? nowMs - (this.#line.oldest?.arrivedMs ?? nowMs) : 0;
    return this.#order.newestFirst(order, nowMs, this.#hold.ms, endlessMs);
  }

  /** Work in front of a request, and itself, beyond the slots: 0 or less means that it need not wait. */
  excess(cost: number): number {
    return this.active + this.#line.cost + cost - this.settings.slots;
  }

  /** How much work may wait now. */
  capacity(isNewestFirst: boolean): number {
    const { lineMs, order, slots } = this.settings;
    const isShort = isNewestFirst && order === "adaptive";
    return lineCapacity(isShort ? overloadedLineMs(lineMs, this.#hold.ms) : lineMs, slots, this.#hold.ms);
  }

  /** Whether a request that cannot start finds a place to wait. One that asks for much does so where nobody else waits. */
  mayWait(cost: number, capacity: number): boolean {
    const { items } = this.#line;
    if (items >= this.settings.lineItems) return false;
    return this.excess(cost) <= capacity || (items === 0 && capacity > 0);
  }

  /** Whether those who came first may have to go to make room for one who comes now. */
  makesRoom(isNewestFirst: boolean, capacity: number): boolean {
    return isNewestFirst && capacity > 0 && this.#line.oldest !== undefined;
  }

  /** Who goes in next. */
  next(nowMs: number): Waiter | undefined {
    return this.newestFirst(nowMs) ? this.#line.newest : this.#line.oldest;
  }

  /** What it takes now: the slots may have become fewer since it came. */
  costOf({ ask }: Waiter): number {
    return Math.min(ask.cost, this.settings.slots);
  }

  /** Whether there are slots for it now. */
  fits(waiter: Waiter): boolean {
    return this.active + this.costOf(waiter) <= this.settings.slots;
  }
}
