import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SpillwayError } from "./errors.ts";
import type { PolicyOptions } from "./policy.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import {
  DISTANT_BUCKET as BUCKET,
  DEADLINE_MS,
  passTime,
  settled,
  distantLimiter as setup,
} from "./testing/test-support.ts";

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

it("a listener that rejects, as an async one does, ends no process: it is warned of", async () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warnings.mockRestore());
  const onStateChange = async (): Promise<void> => {
    throw new Error("pager is down");
  };
  const { limiter, store } = setup({ onStateChange });
  store.take = () => Promise.reject(new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "gone"));
  expect((await limiter.consume("key")).degraded).toBe(true);
  await settled();
  expect(warnings.mock.calls).toEqual([["onStateChange rejected: Error: pager is down", "SpillwayWarning"]]);
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

it("a signal that many callers share has one listener, and none once they have their decisions", async () => {
  const { limiter, store } = setup();
  store.holds = true;
  const { signal } = new AbortController();
  const all = Array.from({ length: 12 }, (_, i) => limiter.consume(`key:${i}`, { signal }));
  await settled();
  expect(getEventListeners(signal, "abort").length).toBe(1);
  for (const { answer } of store.held) answer();
  await Promise.all(all);
  expect(getEventListeners(signal, "abort").length).toBe(0);
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

describe("a store of somebody else's", () => {
  it("may throw where it should reject: callers are decided for, and later calls go through", async () => {
    const { limiter, store } = setup();
    const take = store.take.bind(store);
    let throws = true;
    store.take = (call) => {
      if (throws) throw new Error("not a rejection");
      return take(call);
    };
    for (let i = 0; i < 5; i++) expect((await limiter.consume("key")).source).toBe("backstop");
    throws = false;
    expect((await limiter.consume("key")).source).toBe("store");
  });
});

describe("a refund", () => {
  it("goes to the policies that were charged, by name, though the key has others by now", async () => {
    const minute: PolicyOptions = { name: "minute", limit: 50, period: "1m" };
    const hour: PolicyOptions = { name: "hour", limit: 60, period: "1h" };
    const before = [minute, hour];
    const after = [hour, minute];
    let policies = before;
    const { limiter } = setup({ policies: () => policies });
    const decision = await limiter.consume("key", { cost: { minute: 10, hour: 3 } });
    policies = after;
    await limiter.refund(decision);
    expect((await limiter.peek("key")).policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ["hour", 60],
      ["minute", 50],
    ]);
  });
});

describe("options of consume that say nothing", () => {
  it.each([
    ["a number", 5],
    ["null", null],
    ["a misspelt cost", { costs: 5 }],
    ["a signal that is none", { signal: {} }],
    ["a signal that cannot be listened to", { signal: { throwIfAborted() {} } }],
  ])("are refused before anything is sent: %s", async (_, options) => {
    const { limiter, store } = setup();
    const given = options as unknown as { cost: number };
    await expect(limiter.consume("key", given)).rejects.toThrow(TypeError);
    await expect(limiter.consume("key", given)).rejects.toMatchObject({ code: "ERR_SPILLWAY_INVALID_OPTION" });
    expect(() => limiter.consumeNow("key", given)).toThrow(TypeError);
    expect(store.calls).toEqual([]);
  });

  it("and a caller who has already given up is not charged", async () => {
    const { limiter, store } = setup();
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(limiter.consume("key", { signal })).rejects.toThrow("gone");
    expect(() => limiter.consumeNow("key", { signal })).toThrow("gone");
    expect(store.calls).toEqual([]);
  });
});

it("a promise in the place of a value is named, and does not end the process when it is rejected", async () => {
  const { limiter } = setup();
  const late = () => Promise.reject(new Error("nobody waits for this")) as never;
  await expect(limiter.consume(late())).rejects.toThrow("A key must be a string, got an object of Promise.");
  await expect(limiter.consume("key", { cost: late() })).rejects.toThrow("got an object of Promise.");
  await expect(limiter.penalize("key", late())).rejects.toThrow("got an object of Promise.");
  expect(() => createRateLimiter({ policies: BUCKET, deadlineMs: late() })).toThrow("got an object of Promise.");
  expect(() => createRateLimiter({ policies: [late()] })).toThrow("Option policies[0] must be synchronous");
  await settled();
});

describe("more callers than one call should carry", () => {
  it("go in several: no call has more than some thousand runs, and everybody is answered by the store", async () => {
    const { limiter, store } = setup();
    const asked = Array.from({ length: 32 * 200 }, (_, i) =>
      limiter.consume(`key:${i % 32}`, { cost: 1 + (Math.floor(i / 32) % 2) }),
    );
    const decisions = await Promise.all(asked);
    expect(Math.max(...store.calls.map(({ runs }) => runs.length))).toBeLessThanOrEqual(1024);
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([]);
    for (let key = 0; key < 32; key++) {
      const admitted = decisions.filter((decision) => decision.allowed && decision.key === `key:${key}`);
      expect(admitted.reduce((sum, { costs }) => sum + (costs[0] ?? 0), 0)).toBe(100);
    }
  });
});
