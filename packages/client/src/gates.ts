import type { CallSetting } from "./call-setting.ts";
import type { Ticket } from "./circuit-breaker.ts";
import { ClientError, timeoutError } from "./client-error.ts";
import type { StopReason } from "./outcome.ts";
import type { Slot, Waiter } from "./quota-gate.ts";
import { waitFor } from "./wait.ts";

/** Why an attempt is not sent. */
export interface Refusal {
  readonly stopped: StopReason;
  readonly error: ClientError;
}

export type Passage =
  | { readonly kind: "passed"; readonly ticket: Ticket /** In the order of sending. */; readonly place: number }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A wait can be followed by another; after so many the call is refused. */
const MOST_NAPS = 100;
const LEAST_NAP_MS = 1000;

/**
 * Brings a call to where its next attempt may be sent: past the pause and the pacing of its scope, which can take time, and
 * past the throttle and the breaker of its origin, which cannot. Nothing is held after a refusal.
 * @param noteWait is told of each wait that is over.
 * @throws the reason of the caller's abort.
 */
export async function passGates(call: CallSetting, noteWait: (ms: number) => void): Promise<Passage> {
  const { origin, gate } = call.shared;
  const { clock, random } = call.settings;
  const open = breakerRefusal(call);
  if (open !== undefined) return open;
  const waiter = gate.join();
  try {
    const late = await sitOut(call, waiter, noteWait);
    if (late !== undefined) return late;
    const nowMs = clock.monotonicMs();
    if (call.remainingMs() <= 0) return refused("out-of-time", timeoutError("call", call.deadlineMs));
    // A breaker that is finding out needs its calls to go through.
    const throttle = origin.breaker?.state.kind === "half-open" ? undefined : origin.throttle;
    if (throttle?.refuses(nowMs, random())) return throttled(call);
    const ticket = origin.start(nowMs);
    if (ticket === undefined) return breakerRefusal(call) ?? probing(call);
    return { kind: "passed", ticket, place: gate.sent(waiter) };
  } finally {
    gate.leave(waiter);
  }
}

/** Waits until the call may go, through pauses that come up meanwhile. @returns a refusal where it has no time for that. */
async function sitOut(
  call: CallSetting,
  waiter: Waiter,
  noteWait: (ms: number) => void,
): Promise<Extract<Passage, { kind: "refused" }> | undefined> {
  const { origin, gate, counters } = call.shared;
  const { clock, random, maxWaiting, retry } = call.settings;
  for (let naps = 0; ; ) {
    const nowMs = clock.monotonicMs();
    const own = gate.slot(waiter, nowMs);
    const slot = later(own, origin.pausedSince(nowMs));
    if (slot.atMs <= nowMs) return undefined;
    const heldMs = slot.atMs - nowMs;
    const remainingMs = call.remainingMs();
    if (heldMs >= remainingMs || naps >= MOST_NAPS) return paused(call, heldMs, "for longer than the call has time");
    if (counters.waiting >= maxWaiting) return paused(call, heldMs, `and ${counters.waiting} calls wait already`);
    // What it waits for can be forgotten before it is over: then it looks again. Otherwise it waits out its part of the spread.
    const longestMs = Math.max(LEAST_NAP_MS, retry.maxRetryAfterMs);
    const waitMs = Math.min(heldMs > longestMs ? longestMs : heldMs + random() * slot.spreadMs, remainingMs);
    waiter.toldMs = slot.atMs;
    counters.waiting++;
    try {
      // News of the gate shortens its own waits, not those for the origin.
      await waitFor(clock, waitMs, call.request.signal, slot === own ? waiter : undefined);
    } finally {
      counters.waiting--;
      waiter.wake = () => undefined;
    }
    noteWait(clock.monotonicMs() - nowMs);
    if (clock.monotonicMs() >= slot.atMs) naps++;
  }
}

function later(one: Slot, other: Slot | undefined): Slot {
  return other !== undefined && other.atMs > one.atMs ? other : one;
}

function refused(stopped: StopReason, error: ClientError): Extract<Passage, { kind: "refused" }> {
  return { kind: "refused", refusal: { stopped, error } };
}

function paused(call: CallSetting, heldMs: number, why: string): Extract<Passage, { kind: "refused" }> {
  const message = `${call.shared.origin.name} asked to be left alone for ${Math.ceil(heldMs)} ms, ${why}.`;
  return refused("paused", new ClientError("ERR_SPILLWAY_PAUSED", message, heldMs));
}

function throttled(call: CallSetting): Passage {
  const message = `${call.shared.origin.name} refuses most of what it is asked; this call was not sent.`;
  return refused("throttled", new ClientError("ERR_SPILLWAY_THROTTLED", message));
}

function breakerRefusal(call: CallSetting): Passage | undefined {
  const { origin } = call.shared;
  const closedMs = origin.breaker?.closedForMs(call.settings.clock.monotonicMs()) ?? 0;
  if (closedMs <= 0) return undefined;
  const message = `${origin.name} fails; its breaker is open for ${Math.ceil(closedMs)} ms.`;
  return refused("breaker-open", new ClientError("ERR_SPILLWAY_BREAKER_OPEN", message, closedMs));
}

function probing(call: CallSetting): Passage {
  const message = `${call.shared.origin.name} failed, and other calls find out whether it works again.`;
  return refused("breaker-open", new ClientError("ERR_SPILLWAY_BREAKER_OPEN", message));
}
