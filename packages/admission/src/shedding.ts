import type { Ask } from "./ask.ts";
import { RetrySlots } from "./retry-slots.ts";
import type { Room } from "./room.ts";
import type { Shed, ShedReason } from "./shed.ts";
import type { Counters } from "./stats.ts";

/** What a closed controller tells callers: another process may serve them at once. */
const CLOSED_RETRY_MS = 1000;

/** Makes and counts refusals. It is told what time it is. */
export class Shedding {
  readonly #counters: Counters;
  readonly #retrySlots: RetrySlots;

  /** @param random at least 0, below 1. */
  constructor(counters: Counters, random: () => number) {
    this.#counters = counters;
    this.#retrySlots = new RetrySlots(random);
  }

  /** @param backlog slots' worth of work that waits. */
  refuse(reason: ShedReason, ask: Ask, room: Room, nowMs: number, backlog: number): Shed {
    this.#counters.shed[reason]++;
    if (reason === "cancelled") return { admitted: false, reason, retryAfterMs: 0, shouldRetry: false };
    if (reason === "closed") return { admitted: false, reason, retryAfterMs: CLOSED_RETRY_MS, shouldRetry: true };
    const { retryAfter, retryCapMs, retryShare } = room.settings;
    // Who comes too late now comes too late later.
    const mostMs = reason === "deadline" ? -1 : Math.min(retryCapMs, ask.deadlineAtMs - nowMs);
    let waitMs: number;
    if (typeof retryAfter === "number") waitMs = retryAfter;
    else if (retryAfter === "drain") waitMs = backlog * room.slotMs;
    else waitMs = this.#retrySlots.book(nowMs, room.slotMs, backlog, retryShare, mostMs);
    const retryAfterMs = Math.ceil(Math.min(waitMs, retryCapMs));
    return { admitted: false, reason, retryAfterMs, shouldRetry: waitMs <= mostMs };
  }
}
