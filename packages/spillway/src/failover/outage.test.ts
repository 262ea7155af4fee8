import { describe, expect, it } from "vitest";
import type { Decision } from "../decision.ts";
import { SpillwayError } from "../errors.ts";
import type { TakeReply } from "../stores/store.ts";
import {
  answerProbe,
  DEADLINE_MS,
  DISTANT_BUCKET,
  limiterBeside,
  loseStore,
  passTime,
  probe,
  settled,
  distantLimiter as setup,
} from "../testing/test-support.ts";

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
    // The first probe comes no sooner than three quarters of its 50 ms after the third miss.
    for (let i = 0; i < 3; i++) await passTime(all, DEADLINE_MS / 2);
    expect((await Promise.all(callers)).every(({ degraded }) => degraded)).toBe(true);
    expect(all.store.calls.length).toBe(3);
    expect(all.limiter.stats()).toMatchObject({ storeMisses: 3, storeCalls: 3 });
    expect(all.limiter.consumeNow("key:1")).toMatchObject({ degraded: true });
    expect(all.store.calls.length).toBe(3);
    expect(all.changes).toEqual(["away"]);
  });

  it("a process that was kept from running uses its share no more, until it has looked for the store", async () => {
    const all = setup({ policies: { ...DISTANT_BUCKET, onStoreFailure: "backstop" } });
    const open = limiterBeside(all, { policies: { ...DISTANT_BUCKET, onStoreFailure: "open" } });
    for (const each of [all, open]) await loseStore(each);
    expect(all.limiter.consumeNow("key")).toMatchObject({ allowed: true, source: "backstop" });
    all.clock.advance(400);
    expect(all.limiter.consumeNow("key")).toMatchObject({ allowed: false, source: "backstop", retryAfterMs: 1000 });
    expect(open.limiter.consumeNow("key")).toMatchObject({ allowed: true, source: "open" });
    await passTime(all, 4 * DEADLINE_MS);
    expect(all.limiter.consumeNow("key")).toMatchObject({ allowed: true, source: "backstop" });
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

  it("a store that wakes late serves nobody who has been decided for meanwhile, but for those of its first call", async () => {
    const all = setup();
    all.store.holds = true;
    const callers = [all.limiter.consume("key")];
    await settled();
    for (let ms = 0; ms < 200; ms += 5) {
      await passTime(all, 5);
      if (all.changes.length === 0) callers.push(all.limiter.consume("key"));
    }
    const decisions = await Promise.all(callers);
    expect(decisions.every(({ degraded }) => degraded)).toBe(true);
    expect(callers.length).toBeGreaterThan(20);
    expect(all.limiter.stats().storeMisses).toBe(3);
    for (const { answer } of all.store.held) answer();
    all.store.holds = false;
    await settled();
    // One for the first call, and what went in without the store, which it is told of.
    const admitted = decisions.filter(({ allowed }) => allowed).length;
    expect((await all.limiter.peek("key")).policies[0]?.remaining).toBe(99 - admitted);
  });

  it("callers behind a missed call are served in time by a store that was only slow once", async () => {
    const all = setup();
    all.store.holds = true;
    const first = all.limiter.consume("key");
    await settled();
    await passTime(all, DEADLINE_MS - 1);
    const behind = Array.from({ length: 40 }, () => all.limiter.consume("key"));
    await passTime(all, 1);
    expect((await first).degraded).toBe(true);
    expect(all.store.calls.at(-1)?.runs).toEqual([]);
    all.store.holds = false;
    all.store.held.at(-1)?.answer();
    expect(new Set((await Promise.all(behind)).map(({ source }) => source))).toEqual(new Set(["store"]));
    expect(all.store.calls.length).toBe(3);
  });

  it("a reply that comes late does not make up for its miss", async () => {
    const all = setup();
    all.store.holds = true;
    for (const key of ["a", "b", "c"]) {
      const caller = all.limiter.consume(key);
      await settled();
      await passTime(all, DEADLINE_MS);
      await caller;
      all.store.held.at(-1)?.answer();
      await settled();
    }
    expect(all.changes).toEqual(["away"]);
  });

  it("peek says so within the deadline", async () => {
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

  it.each([
    ["nothing", undefined],
    ["an empty object", {}],
    ["too few buckets", { nowUs: 1, buckets: [], served: [1] }],
    ["buckets that are none", { nowUs: 1, buckets: [{}], served: [1] }],
    ["no word of who is served", { nowUs: 1, buckets: [{ kind: "state", state: {}, lease: undefined }] }],
  ])("by a reply that is none (%s) harms nobody but that call", async (_, reply) => {
    const all = setup();
    const { take } = all.store;
    all.store.take = () => Promise.resolve(reply as unknown as TakeReply);
    const asked = [all.limiter.consume("key"), all.limiter.consume("key"), all.limiter.consume("other")];
    for (const caller of asked) expect((await caller).source).toBe("backstop");
    all.store.take = take;
    for (const key of ["key", "other"]) expect((await all.limiter.consume(key)).source).toBe("store");
    expect([all.changes, all.limiter.stats().storeFaults > 0]).toEqual([[], true]);
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

  it("lets nobody wait for a trial that has no room for them", async () => {
    const all = setup();
    await loseStore(all);
    await answerProbe(all);
    const before = all.store.calls.length;
    const decisions: Decision[] = [];
    const callers = Array.from({ length: 300 }, (_, i) => all.limiter.consume(`key:${i}`));
    for (const caller of callers) void caller.then((decision) => decisions.push(decision));
    await settled();
    expect(all.store.calls.length).toBe(before + 1);
    const onTrial = all.store.held.at(-1)?.call.buckets.length ?? 0;
    expect(decisions.map(({ source }) => source)).toEqual(Array.from({ length: 300 - onTrial }, () => "backstop"));
    all.store.held.at(-1)?.answer();
    expect((await Promise.all(callers)).filter(({ source }) => source === "store")).toHaveLength(onTrial);
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
