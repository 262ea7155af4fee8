import { setImmediate as turn } from "node:timers/promises";
import { expect } from "vitest";
import type { StateChange } from "../health.ts";
import type { PolicyOptions } from "../policy.ts";
import type { PoliciesOption } from "../policy-set.ts";
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from "../rate-limiter.ts";
import { type MemoryStore, memoryStore } from "../stores/memory-store.ts";
import type { Store, TakeCall, TakeReply } from "../stores/store.ts";
import { type ManualClock, manualClock } from "./manual-clock.ts";

/** A limiter over memory, with the clock that both live by. */
export function memoryLimiter(
  policies: PoliciesOption,
  options: Partial<RateLimiterOptions> = {},
): { limiter: RateLimiter; clock: ManualClock } {
  const clock = manualClock();
  const store = memoryStore({ clock, maxKeys: 100 });
  return { limiter: createRateLimiter({ policies, clock, store, maxKeys: 100, ...options }), clock };
}

/** Whole tokens left of each policy. */
export async function remainingOf(limiter: RateLimiter, key = "key"): Promise<number[]> {
  return (await limiter.peek(key)).policies.map(({ remaining }) => remaining);
}

/** The policy of `distantLimiter`. */
export const DISTANT_BUCKET: PolicyOptions = { name: "bucket", limit: 10, period: "1s", burst: 100 };
export const DEADLINE_MS = 50;
const TURN_MS = 20;

/** A call that waits for the test to say what becomes of it. */
export interface HeldCall {
  readonly call: TakeCall;
  /** Decides now, in memory. */
  answer(): void;
  fail(error: unknown): void;
}

/** A store somewhere else: it answers at once, or, while `holds` is true, when the test says so. */
export class DistantStore implements Store {
  readonly name = "distant";
  readonly calls: TakeCall[] = [];
  readonly held: HeldCall[] = [];
  holds = false;
  readonly #memory: MemoryStore;

  constructor(clock: ManualClock) {
    this.#memory = memoryStore({ clock, maxKeys: 1000 });
  }

  async take(call: TakeCall): Promise<TakeReply> {
    this.calls.push(call);
    if (!this.holds) return this.#memory.take(call);
    return new Promise((resolve, reject) => {
      this.held.push({ call, answer: () => resolve(this.#memory.take(call)), fail: reject });
    });
  }

  peek: Store["peek"] = (addresses) => (this.holds ? new Promise(() => {}) : this.#memory.peek(addresses));
  adjust: Store["adjust"] = (adjustments) => this.#memory.adjust(adjustments);
  block: Store["block"] = (addresses, durationUs) => this.#memory.block(addresses, durationUs);
  reset: Store["reset"] = (addresses) => this.#memory.reset(addresses);
  close: Store["close"] = async () => {};
}

export interface DistantSetup {
  readonly limiter: RateLimiter;
  readonly store: DistantStore;
  readonly clock: ManualClock;
  readonly changes: string[];
}

/** A limiter over a store somewhere else. */
export function distantLimiter(options: Partial<RateLimiterOptions> = {}): DistantSetup {
  const clock = manualClock();
  return limiterBeside({ clock, store: new DistantStore(clock) }, options);
}

/** Another limiter over the store of one. */
export function limiterBeside(
  { clock, store }: Pick<DistantSetup, "clock" | "store">,
  options: Partial<RateLimiterOptions> = {},
): DistantSetup {
  const changes: string[] = [];
  const limiter = createRateLimiter({
    policies: { ...DISTANT_BUCKET },
    lease: false,
    deadlineMs: DEADLINE_MS,
    maxKeys: 1000,
    clock,
    store,
    onStateChange: ({ state }: StateChange) => changes.push(state),
    ...options,
  });
  return { limiter, store, clock, changes };
}

/** Lets the event loop turn until nothing is left to be done without time passing. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn();
}

/** Lets time pass, in which the event loop turns all the time. */
export async function passTime({ clock }: DistantSetup, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= TURN_MS) {
    clock.advance(Math.min(TURN_MS, leftMs));
    await settled();
  }
}

/** Makes the breaker open: three calls in a row go unanswered. */
export async function loseStore(setup: DistantSetup): Promise<void> {
  setup.store.holds = true;
  const callers = ["x", "y", "z"].map((key) => setup.limiter.consume(key));
  await settled();
  await passTime(setup, DEADLINE_MS);
  for (const caller of callers) expect((await caller).degraded).toBe(true);
  while (setup.changes.length === 0) {
    const caller = setup.limiter.consume("x");
    await settled();
    await passTime(setup, DEADLINE_MS);
    expect((await caller).degraded).toBe(true);
  }
}

/** Waits for the probe that is due. */
export async function probe(setup: DistantSetup): Promise<HeldCall> {
  const { length } = setup.store.held;
  for (let ms = 0; ms < 1300 && setup.store.held.length === length; ms += 5) await passTime(setup, 5);
  const sent = setup.store.held[length];
  expect(sent?.call.runs).toEqual([]);
  return sent as HeldCall;
}

export async function answerProbe(setup: DistantSetup): Promise<void> {
  (await probe(setup)).answer();
  await settled();
}
