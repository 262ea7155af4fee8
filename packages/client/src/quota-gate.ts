import type { QuotaState } from "./quota-state.ts";

/** When a call may go, and by how much callers who were told the same instant are spread behind it. */
export interface Slot {
  readonly atMs: number;
  readonly spreadMs: number;
}

/** A call that has not been sent yet. */
export interface Waiter {
  /** The time it was told; behind that it waits out its own part of the spread. */
  toldMs: number;
  /** Called when it may go before the time it was told. */
  wake: () => void;
}

interface Quota {
  readonly remaining: number;
  readonly resetAtMs: number;
  /** Time between two requests at the policy's rate; `undefined` when the policy is not known. */
  readonly intervalMs: number | undefined;
  readonly forgottenAtMs: number;
}

const MOST_POLICIES = 16;
const SECOND_MS = 1000;

/**
 * Holds calls back that the other side has said it would refuse: after a refusal until it is over (a pause), and by its
 * `RateLimit` fields when they say that nothing is left. Calls go in the order in which they came. One per origin and
 * credentials. Time is an argument.
 */
export class QuotaGate {
  readonly #longestMs: number;
  readonly #quotas = new Map<string, Quota>();
  readonly #line = new Set<Waiter>();
  #pause: Slot = { atMs: Number.NEGATIVE_INFINITY, spreadMs: 0 };
  #sent = 0;
  #underWay = 0;
  #newestAnswer = -1;

  /** @param longestMs no answer holds calls back for longer, whatever it says. */
  constructor(longestMs: number) {
    this.#longestMs = longestMs;
  }

  /** One more call stands in the line. It must be `sent` or `leave`. */
  join(): Waiter {
    const waiter: Waiter = { toldMs: Number.NEGATIVE_INFINITY, wake: () => undefined };
    this.#line.add(waiter);
    return waiter;
  }

  /** When a call in the line may go, as things stand. */
  slot(waiter: Waiter, nowMs: number): Slot {
    let slot = this.#pause.atMs > nowMs ? this.#pause : { atMs: nowMs, spreadMs: 0 };
    if (this.#quotas.size === 0) return slot;
    const ahead = this.#placeOf(waiter) + this.#underWay;
    for (const [policy, quota] of this.#quotas) {
      if (nowMs >= quota.forgottenAtMs) this.#quotas.delete(policy);
      else slot = later(slot, slotBehind(ahead, quota, nowMs));
    }
    return slot;
  }

  /** A call in the line is not sent after all. */
  leave(waiter: Waiter): void {
    this.#line.delete(waiter);
  }

  /** A call in the line is sent. It must be `settled`. @returns its place in the order of sending. */
  sent(waiter: Waiter): number {
    this.#line.delete(waiter);
    this.#underWay++;
    return this.#sent++;
  }

  /** A call is over. @param place as `sent` gave it. @param readings what its answer says; none when it had no answer. */
  settled(place: number, readings: readonly QuotaState[], nowMs: number): void {
    this.#underWay--;
    if (readings.length > 0) this.#learn(place, readings, nowMs);
    this.#wakeThoseWhoMayGo(nowMs);
  }

  /** Nothing is sent for `waitMs`. A shorter pause never ends a longer one. */
  pause(nowMs: number, waitMs: number, spreadMs: number): void {
    const atMs = nowMs + Math.min(waitMs, this.#longestMs);
    if (atMs > this.#pause.atMs) this.#pause = { atMs, spreadMs };
  }

  /**
   * Calls under way are taken as not counted yet in what an answer says is left: they leave less for others until they are
   * answered too. Of an answer to an earlier call, which may have been overtaken, only bad news is taken.
   */
  #learn(place: number, readings: readonly QuotaState[], nowMs: number): void {
    const overtaken = place < this.#newestAnswer;
    if (!overtaken) this.#newestAnswer = place;
    for (const { policy, remaining, resetMs, limit, windowMs } of readings) {
      const known = this.#quotas.get(policy);
      if (overtaken && (known === undefined || known.remaining <= remaining)) continue;
      this.#quotas.delete(policy);
      if (resetMs === undefined || this.#quotas.size >= MOST_POLICIES) continue;
      const intervalMs = limit === undefined || windowMs === undefined ? undefined : windowMs / limit;
      const resetAtMs = nowMs + Math.min(untilMoreMs(resetMs, intervalMs), this.#longestMs);
      const forgottenAtMs = resetAtMs + (intervalMs === undefined ? 0 : Math.min(windowMs as number, this.#longestMs));
      this.#quotas.set(policy, { remaining, resetAtMs, intervalMs, forgottenAtMs });
    }
  }

  #wakeThoseWhoMayGo(nowMs: number): void {
    for (const waiter of this.#line) {
      if (this.slot(waiter, nowMs).atMs > nowMs) return;
      if (nowMs < waiter.toldMs) waiter.wake();
    }
  }

  #placeOf(waiter: Waiter): number {
    let place = 0;
    for (const one of this.#line) {
      if (one === waiter) break;
      place++;
    }
    return place;
  }
}

/** One second is any time up to it, rounded up: a policy that gives back one each few milliseconds does not mean all of it. */
function untilMoreMs(resetMs: number, intervalMs: number | undefined): number {
  return intervalMs !== undefined && resetMs <= SECOND_MS ? Math.min(resetMs, intervalMs) : resetMs;
}

/** When one more call may go behind `ahead` others. Precondition: the quota is not forgotten yet. */
function slotBehind(ahead: number, { remaining, resetAtMs, intervalMs }: Quota, nowMs: number): Slot {
  const short = ahead - remaining;
  if (short < 0) return { atMs: nowMs, spreadMs: 0 };
  // How much comes at the reset is not told. What a policy with a rate gets back, it gets one by one.
  if (intervalMs === undefined) return { atMs: Math.max(nowMs, resetAtMs), spreadMs: SECOND_MS };
  return { atMs: Math.max(nowMs, resetAtMs + short * intervalMs), spreadMs: Math.min(intervalMs, SECOND_MS) };
}

function later(one: Slot, other: Slot): Slot {
  return other.atMs > one.atMs ? other : one;
}
