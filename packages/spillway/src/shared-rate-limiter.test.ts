import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Decision } from "./decision.ts";
import { SpillwayError } from "./errors.ts";
import type { StateChange } from "./health.ts";
import type { PolicyOptions } from "./policy.ts";
import { createRateLimiter, type RateLimiter, type RateLimiterOptions } from "./rate-limiter.ts";
import { type MemoryStore, memoryStore } from "./stores/memory-store.ts";
import type { Store, TakeCall, TakeReply } from "./stores/store.ts";
import { type ManualClock, manualClock } from "./testing/manual-clock.ts";

const BUCKET: PolicyOptions = { name: "bucket", limit: 10, period: "1s", burst: 100 };
const DEADLINE_MS = 50;

/** A call that waits for the test to say what becomes of it. */
interface HeldCall {
  readonly call: TakeCall;
  /** Decides now, in memory. */
  answer(): void;
  fail(error: unknown): void;
}

/** A store somewhere else: it answers at once, or, while `holds` is true, when the test says so. */
class DistantStore implements Store {
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
  reset: Store["reset"] = (addresses) => this.#memory.reset(addresses);
  close: Store["close"] = async () => {};
}

interface Setup {
  readonly limiter: RateLimiter;
  readonly store: DistantStore;
  readonly clock: ManualClock;
  readonly changes: string[];
}

function setup(options: Partial<RateLimiterOptions> = {}): Setup {
  const clock = manualClock();
  const store = new DistantStore(clock);
  const changes: string[] = [];
  const limiter = createRateLimiter({
    policies: BUCKET,
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
async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn();
}

async function passTime({ clock }: Setup, ms: number): Promise<void> {
  clock.advance(ms);
  await settled();
}

/** Makes the breaker open: three calls in a row go unanswered. */
async function loseStore(setup: Setup): Promise<void> {
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
async function probe(setup: Setup): Promise<HeldCall> {
  const { length } = setup.store.held;
  for (let ms = 0; ms < 1300 && setup.store.held.length === length; ms += 5) await passTime(setup, 5);
  const sent = setup.store.held[length];
  expect(sent?.call.runs).toEqual([]);
  return sent as HeldCall;
}

async function answerProbe(setup: Setup): Promise<void> {
  (await probe(setup)).answer();
  await settled();
}

describe("callers of one key", () => {
  it("ride together: 200 at once in at most three calls, each with an answer of its own (C25 a)", async () => {
    const { limiter, store } = setup();
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume("key")));
    expect(store.calls.length).toBeLessThanOrEqual(3);
    const admitted = decisions.filter(({ allowed }) => allowed);
    expect(admitted.map(({ remaining }) => remaining).sort((a, b) => b - a)).toEqual(
      Array.from({ length: 100 }, (_, i) => 99 - i),
    );
    expect(decisions.filter((decision) => !decision.allowed && decision.retryAfterMs !== 100)).toEqual([]);
  });

  it("are served in order of arrival, each its own cost", async () => {
    const { limiter } = setup();
    const costs = [60, 50, 30, 10, 1, 0];
    const decisions = await Promise.all(costs.map((cost) => limiter.consume("key", { cost })));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false, true, true, false, true]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([40, 0, 10, 0, 0, 0]);
  });

  it("have one call under way; who comes meanwhile takes the next", async () => {
    const { limiter, store } = setup();
    store.holds = true;
    const first = limiter.consume("key");
    await settled();
    const later = [limiter.consume("key"), limiter.consume("key")];
    await settled();
    expect(store.held.length).toBe(1);
    store.held[0]?.answer();
    await first;
    await settled();
    expect(store.held.map(({ call }) => call.runs[0]?.count)).toEqual([1, 2]);
    store.held[1]?.answer();
    expect((await Promise.all(later)).map(({ remaining }) => remaining)).toEqual([98, 97]);
  });
});

describe("keys of one turn", () => {
  it("travel together, up to 32 in a call", async () => {
    const { limiter, store } = setup();
    await Promise.all(Array.from({ length: 40 }, (_, i) => limiter.consume(`key:${i}`)));
    expect(store.calls.map(({ buckets }) => buckets.length)).toEqual([32, 8]);
  });

  it("never have a bucket in a call twice, though their policies are another object or the key was forgotten", async () => {
    const tiers = [BUCKET, { ...BUCKET, limit: 20 }];
    let turns = 0;
    const changing = setup({ policies: () => tiers[turns++ % 2] as PolicyOptions });
    const forgetting = setup({ maxKeys: 1 });
    for (const { limiter, store } of [changing, forgetting]) {
      const keys = Array.from({ length: 12 }, (_, i) => `key:${i % 3}`);
      const decisions = await Promise.all(keys.map((key) => limiter.consume(key, { cost: 30 })));
      for (const { buckets } of store.calls) {
        const names = buckets.map(({ key, policy }) => `${key} ${policy.name}`);
        expect(new Set(names).size).toBe(names.length);
      }
      expect(decisions.filter(({ allowed }) => allowed).length).toBe(9);
    }
  });
});

describe("a remembered refusal", () => {
  it("answers without the store until the told wait is over, then the store does (C10 a)", async () => {
    const { limiter, store, clock } = setup();
    await limiter.consume("key", { cost: 100 });
    const refused = await limiter.consume("key");
    expect(refused).toMatchObject({ allowed: false, source: "store", retryAfterMs: 100 });
    const { length } = store.calls;
    clock.advance(40);
    expect(await limiter.consume("key")).toMatchObject({ source: "denial-cache", retryAfterMs: 60 });
    expect(limiter.consumeNow("key")).toMatchObject({ source: "denial-cache", retryAfterMs: 60 });
    expect(store.calls.length).toBe(length);
    clock.advance(60);
    expect(limiter.consumeNow("key")).toBeUndefined();
    expect(await limiter.consume("key")).toMatchObject({ allowed: true, source: "store" });
  });

  it("is dropped by a refund and by a reset", async () => {
    const { limiter } = setup();
    const admitted = await limiter.consume("key", { cost: 100 });
    expect((await limiter.consume("key")).allowed).toBe(false);
    await limiter.refund(admitted);
    expect(await limiter.consume("key", { cost: 100 })).toMatchObject({ allowed: true, source: "store" });
    expect((await limiter.consume("key")).allowed).toBe(false);
    await limiter.reset("key");
    expect(await limiter.consume("key")).toMatchObject({ allowed: true, source: "store" });
  });
});

describe("while the store does not answer", () => {
  it("nobody waits longer than the deadline, and the backstop decides", async () => {
    const all = setup();
    all.store.holds = true;
    let decision: Decision | undefined;
    const caller = all.limiter.consume("key").then((made) => {
      decision = made;
    });
    await passTime(all, DEADLINE_MS - 1);
    expect(decision).toBeUndefined();
    await passTime(all, 1);
    await caller;
    expect(decision).toMatchObject({ allowed: true, source: "backstop", degraded: true });
  });

  it("three calls at most are missed; from then on nobody waits at all and nothing is sent", async () => {
    const all = setup();
    all.store.holds = true;
    const callers = Array.from({ length: 500 }, (_, i) => all.limiter.consume(`key:${i}`));
    await settled();
    for (let i = 0; i < 4; i++) await passTime(all, DEADLINE_MS / 2);
    expect((await Promise.all(callers)).every(({ degraded }) => degraded)).toBe(true);
    expect(all.store.calls.length).toBe(3);
    expect(all.limiter.stats()).toMatchObject({ storeMisses: 3, storeCalls: 3 });
    expect(all.limiter.consumeNow("key:1")).toMatchObject({ degraded: true });
    expect(all.store.calls.length).toBe(3);
    expect(all.changes).toEqual(["away"]);
  });

  it("a reply that comes late admits nobody a second time, and reopens nothing", async () => {
    const all = setup();
    all.store.holds = true;
    const caller = all.limiter.consume("key");
    await settled();
    await passTime(all, DEADLINE_MS);
    expect((await caller).source).toBe("backstop");
    all.store.held[0]?.answer();
    await settled();
    expect(all.limiter.stats()).toMatchObject({ allowed: 1, sources: { store: 0, backstop: 1 } });
  });

  it("peek and reset say so within the deadline", async () => {
    const all = setup();
    all.store.holds = true;
    const peek = expect(all.limiter.peek("key")).rejects.toMatchObject({ code: "ERR_SPILLWAY_STORE_TIMEOUT" });
    await passTime(all, DEADLINE_MS);
    await peek;
  });
});

describe("a store that says no", () => {
  it("is left alone at once when it cannot serve anybody", async () => {
    const all = setup();
    all.store.holds = true;
    const caller = all.limiter.consume("key");
    await settled();
    all.store.held[0]?.fail(new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "READONLY"));
    expect(await caller).toMatchObject({ allowed: true, source: "backstop", degraded: true });
    expect([all.changes, all.limiter.stats().storeFaults]).toEqual([["away"], 1]);
  });

  it("about one call costs that call alone, whatever it was that came", async () => {
    const all = setup();
    for (const error of [new Error("ERR"), new SpillwayError("ERR_SPILLWAY_STORE_REPLY", "x"), "text", undefined]) {
      all.store.holds = true;
      const caller = all.limiter.consume("key");
      await settled();
      all.store.held.pop()?.fail(error);
      expect((await caller).source).toBe("backstop");
      all.store.holds = false;
      expect((await all.limiter.consume("key")).source).toBe("store");
    }
    expect(all.changes).toEqual([]);
  });

  it("of a bucket that cannot be read decides for that key by the backstop, and for others itself", async () => {
    const all = setup();
    const { take } = all.store;
    all.store.take = async (call) => {
      const reply = await take.call(all.store, call);
      const error = new SpillwayError("ERR_SPILLWAY_BUCKET_UNREADABLE", "The key holds a list.");
      const isBad = call.buckets.map(({ key }) => key === "bad");
      return {
        ...reply,
        buckets: reply.buckets.map((reading, i) => (isBad[i] === true ? { kind: "fault", error } : reading)),
        served: reply.served.map((served, i) => (isBad[i] === true ? 0 : served)),
      };
    };
    const [bad, good] = await Promise.all([all.limiter.consume("bad"), all.limiter.consume("good")]);
    expect([bad.source, good.source, all.limiter.stats().storeFaults, all.changes]).toEqual([
      "backstop",
      "store",
      1,
      [],
    ]);
  });
});

describe("coming back", () => {
  it("takes a probe, then one real call, then everybody (C21 b)", async () => {
    const all = setup();
    await loseStore(all);
    await answerProbe(all);
    const before = all.store.calls.length;
    const trial = all.limiter.consume("one");
    const others = Array.from({ length: 99 }, (_, i) => all.limiter.consume(`other:${i}`));
    await settled();
    expect(all.store.calls.length).toBe(before + 1);
    expect(all.limiter.consumeNow("later")).toMatchObject({ source: "backstop" });
    all.store.holds = false;
    all.store.held.at(-1)?.answer();
    expect((await trial).source).toBe("store");
    await settled();
    await passTime(all, DEADLINE_MS);
    await Promise.all(others);
    expect(all.changes).toEqual(["away", "back"]);
    expect((await all.limiter.consume("one")).source).toBe("store");
  });

  it("is put off by a trial that never settles, and never stuck (C21 c)", async () => {
    const all = setup();
    await loseStore(all);
    for (let round = 0; round < 3; round++) {
      await answerProbe(all);
      const trial = all.limiter.consume("key");
      await settled();
      await passTime(all, DEADLINE_MS);
      expect((await trial).source).toBe("backstop");
      expect(all.limiter.consumeNow("key")).toMatchObject({ source: "backstop" });
    }
    await answerProbe(all);
    all.store.holds = false;
    expect((await all.limiter.consume("key")).source).toBe("store");
    expect(all.changes).toEqual(["away", "back"]);
  });

  it("is not held up by a caller who aborts the trial (C21 c)", async () => {
    const all = setup();
    await loseStore(all);
    await answerProbe(all);
    const controller = new AbortController();
    const trial = all.limiter.consume("key", { signal: controller.signal });
    await settled();
    controller.abort(new Error("gone"));
    await expect(trial).rejects.toThrow("gone");
    all.store.holds = false;
    all.store.held.at(-1)?.answer();
    await settled();
    expect((await all.limiter.consume("key")).source).toBe("store");
  });

  it("goes on probing while probes fail, and sends no real call meanwhile", async () => {
    const all = setup();
    await loseStore(all);
    const before = all.store.calls.length;
    for (let i = 0; i < 5; i++) {
      (await probe(all)).fail(new Error("ECONNREFUSED"));
      await settled();
      expect((await all.limiter.consume("key")).source).toBe("backstop");
    }
    expect(all.store.calls.slice(before).every(({ runs }) => runs.length === 0)).toBe(true);
    expect(all.changes).toEqual(["away"]);
  });
});

describe("a signal", () => {
  it("that is aborted already keeps the call from being made", async () => {
    const { limiter, store } = setup();
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(limiter.consume("key", { signal })).rejects.toThrow("too late");
    await settled();
    expect(store.calls).toEqual([]);
  });

  it("rejects a caller who waits, with its reason, and leaves the others alone", async () => {
    const all = setup();
    all.store.holds = true;
    const controller = new AbortController();
    const gone = all.limiter.consume("key", { signal: controller.signal });
    const stays = all.limiter.consume("key");
    await settled();
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    all.store.held[0]?.answer();
    expect(await stays).toMatchObject({ allowed: true, source: "store", remaining: 98 });
    expect(all.limiter.stats().allowed).toBe(1);
  });
});

describe("close", () => {
  it("decides at once for everybody who still waits", async () => {
    const all = setup();
    all.store.holds = true;
    const callers = ["a", "a", "b"].map((key) => all.limiter.consume(key));
    await settled();
    const closed = all.limiter.close();
    expect((await Promise.all(callers)).map(({ source }) => source)).toEqual(["backstop", "backstop", "backstop"]);
    await passTime(all, DEADLINE_MS);
    await closed;
    await expect(all.limiter.consume("a")).rejects.toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
    expect(all.clock.pendingTimers).toBe(0);
  });
});
