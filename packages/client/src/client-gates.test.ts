import { describe, expect, it } from "vitest";
import type { ClientOptions } from "./client-options.ts";
import type { Outcome } from "./outcome.ts";
import { type Answer, type Bench, bench, type SeenRequest, URL_OF_TESTS } from "./test-support.ts";

const failing = { status: 503 };
const working = { status: 200 };

/** Calls at a steady rate, all of them to the end. */
async function offer(rig: Bench, calls: number, everyMs: number): Promise<Outcome[]> {
  const all: Promise<Outcome>[] = [];
  for (let call = 0; call < calls; call++) {
    all.push(rig.request());
    await rig.pass(everyMs, everyMs);
  }
  return rig.finish(Promise.all(all));
}

const countOf = (outcomes: readonly Outcome[], stopped: Outcome["stopped"]): number =>
  outcomes.filter((outcome) => outcome.stopped === stopped).length;

describe("the retry budget", () => {
  it("lets 1,000 calls to a dead dependency add 110 retries, not 3,000", async () => {
    const rig = bench([{ error: "ECONNREFUSED" }], { throttle: false });
    const outcomes = await offer(rig, 1000, 10);
    expect(rig.seen.length - 1000).toBeLessThanOrEqual(110);
    expect(rig.seen.length - 1000).toBeGreaterThanOrEqual(100);
    expect(countOf(outcomes, "budget-spent")).toBeGreaterThan(800);
  }, 30_000);

  it("is charged when a retry is decided, so that the next caller fails at once instead of waiting for nothing", async () => {
    const rig = bench([{ status: 503, headers: { "retry-after": "5" } }], {
      budget: { reserve: 1, ratio: 0 },
      pause: false,
    });
    const first = rig.request();
    await rig.pass(10);
    expect(await rig.finish(rig.request())).toMatchObject({ stopped: "budget-spent", retryAfterMs: 5000, tookMs: 0 });
    await rig.finish(first);
    expect(rig.seen.length).toBe(3);
  });

  it("keeps a long failure at about 1.1 of what is offered, and fills again after it (C20)", async () => {
    const rig = bench(({ atMs }: SeenRequest): Answer => (atMs < 20_000 ? failing : working), { throttle: false });
    const outcomes = await offer(rig, 1000, 20);
    expect(rig.seen.length).toBeLessThanOrEqual(1200);
    expect(outcomes.length).toBe(1000);
    await offer(rig, 200, 20);
    expect(rig.client.stats().origins[0]?.budgetLeft).toBe(10);
  }, 30_000);

  it("is one per origin", async () => {
    const rig = bench([failing], { budget: { reserve: 1, ratio: 0 } });
    for (const host of ["one", "two"]) await rig.finish(rig.request(`http://${host}.test/`));
    expect(rig.seen.length).toBe(4);
  });
});

describe("the adaptive throttle", () => {
  it("sends about two attempts per accepted one to an origin that takes a quarter", async () => {
    let served = 0;
    const rig = bench(() => (served++ % 4 === 0 ? working : failing), { retry: 0 });
    const outcomes = await offer(rig, 1200, 5);
    const late = outcomes.slice(600);
    expect(countOf(late, "throttled")).toBeGreaterThan(200);
    expect(late.filter(({ kind }) => kind === "refused")).toHaveLength(countOf(late, "throttled"));
  }, 30_000);

  it("takes no slow calls for refused ones", async () => {
    const rig = bench([{ status: 200, takesMs: 5000 }]);
    const outcomes = await rig.finish(Promise.all(Array.from({ length: 300 }, () => rig.request())));
    expect([rig.seen.length, countOf(outcomes, "answered")]).toEqual([300, 300]);
  });

  it("is over soon after the origin works again", async () => {
    const rig = bench(({ atMs }: SeenRequest): Answer => (atMs < 10_000 ? failing : working), { retry: 0 });
    await offer(rig, 1000, 10);
    await offer(rig, 1500, 10);
    expect(countOf(await offer(rig, 100, 10), "answered")).toBe(100);
  }, 30_000);
});

describe("the breaker", () => {
  const breaker = { openFor: "5s", minimumCalls: 20 } as const;
  const hung: ClientOptions = { breaker, deadline: false, attemptTimeout: "10s", retry: 0, throttle: false };

  it("keeps 60 calls at most in flight to a dependency that hangs, and fails the others at once", async () => {
    let most = 0;
    const rig = bench(({ atMs }: SeenRequest): Answer => {
      most = Math.max(most, rig.client.stats().inFlight);
      return { status: 200, takesMs: atMs < 2000 || atMs > 20_000 ? 50 : 1e9 };
    }, hung);
    const outcomes = await offer(rig, 2000, 10);
    const refused = outcomes.filter(({ kind }) => kind === "refused");
    expect(most).toBeLessThanOrEqual(60);
    expect(refused.length).toBeGreaterThan(1500);
    expect(Math.max(...refused.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(5);
    expect(refused[0]).toMatchObject({
      stopped: "breaker-open",
      attempts: [],
      error: { code: "ERR_SPILLWAY_BREAKER_OPEN" },
    });
    const after = await offer(rig, 1200, 10);
    expect(countOf(after.slice(-100), "answered")).toBe(100);
  }, 60_000);

  it("closes within two seconds after a probe that does well", async () => {
    const states: [string, number][] = [];
    const rig = bench(({ atMs }: SeenRequest): Answer => ({ status: atMs < 3000 ? 500 : 200, takesMs: 20 }), {
      ...hung,
      onStateChange: ({ state }) => states.push([state, rig.clock.monotonicMs()]),
    });
    await offer(rig, 700, 10);
    expect(states.map(([state]) => state)).toEqual(["open", "half-open", "closed"]);
    expect((states[2]?.[1] ?? 0) - (states[1]?.[1] ?? 0)).toBeLessThan(2000);
  }, 30_000);

  it("does not open by 429s, nor by calls that their callers end", async () => {
    const rig = bench([{ status: 429 }], { ...hung, deadline: "10s" });
    await offer(rig, 100, 5);
    expect(rig.client.stats().origins[0]?.breaker).toBe("closed");
    const slow = bench([{ takesMs: 1e9 }], hung);
    for (let call = 0; call < 100; call++) {
      const controller = new AbortController();
      const result = slow.client.request(URL_OF_TESTS, { signal: controller.signal }).catch(() => undefined);
      await slow.pass(2);
      controller.abort();
      await result;
    }
    expect(slow.client.stats().origins[0]).toMatchObject({ breaker: "closed", inFlight: 0 });
  });

  it("opens by calls whose callers' patience was a timeout", async () => {
    const rig = bench([{ takesMs: 1e9 }], hung);
    for (let call = 0; call < 25; call++) {
      const reason = new DOMException("too long", "TimeoutError");
      const controller = new AbortController();
      const result = rig.client.request(URL_OF_TESTS, { signal: controller.signal }).catch(() => undefined);
      await rig.pass(2);
      controller.abort(reason);
      await result;
    }
    expect(rig.client.stats().origins[0]?.breaker).toBe("open");
  });

  it("that opens while a call waits to retry hands the failure on that it has", async () => {
    const rig = bench([{ status: 500, headers: { "retry-after": "1" } }], {
      breaker: { minimumCalls: 2 },
      throttle: false,
    });
    const [one, other] = await rig.finish(Promise.all([rig.request(), rig.request()]));
    expect([one, other].map(({ kind, stopped }) => [kind, stopped])).toEqual([
      ["answered", "breaker-open"],
      ["answered", "breaker-open"],
    ]);
    expect(rig.client.stats().origins[0]?.budgetLeft).toBe(10);
  });

  it("is off unless given", async () => {
    const rig = bench([{ status: 500 }], { retry: 0, throttle: false });
    await offer(rig, 100, 1);
    expect([rig.seen.length, rig.client.stats().origins[0]?.breaker]).toEqual([100, undefined]);
  });
});

describe("a pause", () => {
  const limited = { status: 429, headers: { "retry-after": "2" } };

  it("after a 429 holds other calls of the same origin and credentials back, and no others", async () => {
    const rig = bench([limited, working]);
    const first = rig.request();
    await rig.pass(10);
    const others = [
      rig.request(),
      rig.request(URL_OF_TESTS, { headers: { authorization: "Bearer other" } }),
      rig.request("http://elsewhere.test/"),
    ];
    await rig.pass(100);
    expect(rig.seen.length).toBe(3);
    const outcomes = await rig.finish(Promise.all([first, ...others]));
    expect(outcomes[1]?.attempts).toMatchObject([{ waitedFor: "pause" }]);
    expect(rig.seen.slice(3).every(({ atMs }) => atMs >= 2000)).toBe(true);
  });

  it("refuses at once whom it would keep beyond their deadline, with the wait in hand", async () => {
    const rig = bench([{ status: 429, headers: { "retry-after": "30" } }]);
    await rig.finish(rig.request());
    await rig.pass(1000);
    const outcome = await rig.finish(rig.request());
    expect(outcome).toMatchObject({
      kind: "refused",
      stopped: "paused",
      tookMs: 0,
      error: { code: "ERR_SPILLWAY_PAUSED" },
    });
    expect(outcome.retryAfterMs).toBeLessThanOrEqual(29_000);
    expect(rig.seen.length).toBe(1);
  });

  it("is ended for one caller by its abort, with no timer left", async () => {
    const rig = bench([limited], { retry: 0 });
    await rig.finish(rig.request());
    const controller = new AbortController();
    const result = rig.client.request(URL_OF_TESTS, { signal: controller.signal }).catch((reason) => reason);
    await rig.pass(100);
    expect([rig.clock.pendingTimers, rig.client.stats().waiting]).toEqual([1, 1]);
    controller.abort("enough");
    expect(await result).toBe("enough");
    expect([rig.clock.pendingTimers, rig.client.stats().waiting]).toEqual([0, 0]);
  });

  it("as long as any is held for is spread all the same", async () => {
    const rig = bench([{ status: 429, headers: { "retry-after": "60" } }, {}], {
      retry: 0,
      deadline: "2m",
      random: () => 0.5,
    });
    await rig.finish(rig.request());
    const { attempts } = await rig.finish(rig.request());
    expect(attempts[0]?.waitedMs).toBeGreaterThanOrEqual(62_900);
  });

  it("keeps no more callers waiting than it is told", async () => {
    const rig = bench([limited, working], { maxWaiting: 2, retry: 0 });
    await rig.finish(rig.request());
    const outcomes = await rig.finish(Promise.all(Array.from({ length: 5 }, () => rig.request())));
    expect([countOf(outcomes, "answered"), countOf(outcomes, "paused")]).toEqual([2, 3]);
  });

  it("after a 503 is for all only when nothing is served, and ends when something is", async () => {
    const shed = { status: 503, headers: { "retry-after": "5" } };
    const alone = bench([shed, working], { retry: 0 });
    await alone.finish(alone.request());
    await alone.finish(alone.request("http://service.test/other", { headers: { authorization: "Bearer other" } }));
    expect(alone.seen[1]?.atMs).toBeGreaterThanOrEqual(5000);
    const mixed = bench([working, shed, working], { retry: 0 });
    for (let call = 0; call < 3; call++) await mixed.finish(mixed.request());
    expect(mixed.seen[2]?.atMs).toBeLessThan(1000);
  });

  it("does not follow a wait in milliseconds, which is the slot of one caller", async () => {
    const rig = bench([{ status: 503, headers: { "retry-after-ms": "4000", "retry-after": "4" } }, working], {
      retry: 0,
    });
    await rig.finish(rig.request());
    await rig.finish(rig.request());
    expect(rig.seen[1]?.atMs).toBeLessThan(1000);
  });

  it("is over for a hundred callers one after another, not for all as soon as the first is answered", async () => {
    const rig = bench([limited, working], { retry: 0 });
    await rig.finish(rig.request());
    await rig.finish(Promise.all(Array.from({ length: 100 }, () => rig.request())));
    const times = rig.seen.slice(1).map(({ atMs }) => atMs);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(800);
  });

  it("can be off, and can be by route", async () => {
    const off = bench([limited, working], { pause: false, retry: 0 });
    await off.finish(off.request());
    expect((await off.finish(off.request())).waitedMs).toBe(0);
    const byRoute = bench([limited, working], { scope: ({ url }) => url.pathname, retry: 0 });
    await byRoute.finish(byRoute.request("http://service.test/a"));
    expect((await byRoute.finish(byRoute.request("http://service.test/b"))).waitedMs).toBe(0);
    expect((await byRoute.finish(byRoute.request("http://service.test/a"))).waitedMs).toBeGreaterThan(1000);
  });
});

describe("pacing", () => {
  it("keeps no place for calls that were refused", async () => {
    const headers = { ratelimit: '"p";r=0;t=1', "ratelimit-policy": '"p";q=10;w=1' };
    const rig = bench([{ status: 200, headers }, working], { maxWaiting: 0 });
    await rig.finish(rig.request());
    const refused = await Promise.all(Array.from({ length: 50 }, () => rig.request()));
    expect(countOf(refused, "paused")).toBe(50);
    await rig.pass(150);
    expect((await rig.finish(rig.request())).kind).toBe("answered");
  });

  it("sends no more than the fields of an answer leave, and the rest after the reset", async () => {
    const rig = bench(({ atMs }: SeenRequest): Answer => {
      const left = atMs < 3000 ? Math.max(0, 3 - rig.seen.length) : 9;
      return { status: 200, headers: { ratelimit: `"p";r=${left};t=3` } };
    });
    await rig.finish(rig.request());
    await rig.finish(Promise.all(Array.from({ length: 5 }, () => rig.request())));
    const times = rig.seen.map(({ atMs }) => atMs);
    expect(times.filter((atMs) => atMs < 1000).length).toBe(3);
    expect(times.slice(3).every((atMs) => atMs >= 3000 && atMs <= 4100)).toBe(true);
  });

  it("can be off", async () => {
    const rig = bench([{ status: 200, headers: { ratelimit: '"p";r=0;t=9' } }], { pacing: false });
    await rig.finish(rig.request());
    expect((await rig.finish(rig.request())).waitedMs).toBe(0);
  });
});
