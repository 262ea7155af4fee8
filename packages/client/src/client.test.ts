import { describe, expect, it } from "vitest";
import { ClientError } from "./client-error.ts";
import { outcomeOf } from "./outcome.ts";
import { bench, URL_OF_TESTS } from "./test-support.ts";

const failing = { status: 503 };
const working = { status: 200 };
const noLimits = { budget: false, throttle: false } as const;

describe("fetch", () => {
  it("answers with the first answer that is worth handing on, and outcomeOf tells how it came about", async () => {
    const { client, finish, seen, letGo } = bench([failing, { error: "ECONNRESET" }, working], { random: () => 0.5 });
    const response = await finish(client.fetch(URL_OF_TESTS));
    expect(await response.text()).toBe("body");
    expect(seen.map(({ atMs }) => atMs)).toEqual([0, 50, 150]);
    expect(letGo).toEqual([0]);
    expect(outcomeOf(response)).toMatchObject({
      kind: "answered",
      stopped: "answered",
      waitedMs: 150,
      attempts: [
        { waitedMs: 0, waitedFor: undefined, status: 503, errorCode: undefined },
        { waitedMs: 50, waitedFor: "backoff", status: undefined, errorCode: "ECONNRESET" },
        { waitedMs: 100, waitedFor: "backoff", status: 200 },
      ],
    });
  });

  it("answers with the last failure when attempts are used up, its body still to be read", async () => {
    const { client, finish, seen, letGo } = bench([failing]);
    const response = await finish(client.fetch(URL_OF_TESTS));
    expect([response.status, await response.text(), seen.length]).toEqual([503, "body", 4]);
    expect(letGo).toEqual([0, 1, 2]);
    expect(outcomeOf(response)?.stopped).toBe("attempts-used");
  });

  it("rejects with the platform's own error when the last attempt had no answer", async () => {
    const { client, finish, seen } = bench([{ error: "ECONNREFUSED" }], { retry: 1 });
    const error = await finish(client.fetch(URL_OF_TESTS).catch((reason) => reason));
    expect([error.message, error.cause.code, seen.length]).toEqual(["fetch failed", "ECONNREFUSED", 2]);
    expect(outcomeOf(error)).toMatchObject({ kind: "failed", stopped: "attempts-used", attempts: [{}, {}] });
  });

  it("needs no this, and leaves what is not given to the platform", async () => {
    const { client, finish, seen } = bench([working]);
    const { fetch } = client;
    await finish(fetch(URL_OF_TESTS, { method: "PUT", body: "x", headers: { "x-own": "1" }, redirect: "manual" }));
    expect(seen[0]?.init).toMatchObject({ method: "PUT", body: "x", redirect: "manual" });
    expect(seen[0]?.headers.get("x-own")).toBe("1");
  });

  it("takes a URL and a Request, too", async () => {
    const { client, finish, seen } = bench([failing, working]);
    const request = new Request(URL_OF_TESTS, { headers: { authorization: "Bearer t" } });
    await finish(client.fetch(request));
    expect(seen.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer t", "Bearer t"]);
    expect((await finish(client.fetch(new URL(URL_OF_TESTS)))).status).toBe(200);
  });

  it("tells of nothing for what it did not make", () => {
    expect([outcomeOf(new Response()), outcomeOf("text"), outcomeOf(null)]).toEqual([undefined, undefined, undefined]);
  });

  it("leaves no timer behind", async () => {
    const { client, finish, clock } = bench([failing, working], { attemptTimeout: "1s" });
    await finish(client.fetch(URL_OF_TESTS));
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("what may be sent again (C20)", () => {
  it("is a PUT of text, in full", async () => {
    const { client, finish, seen } = bench([failing, working]);
    await finish(client.fetch(URL_OF_TESTS, { method: "PUT", body: "whole" }));
    expect(seen.map(({ init }) => init.body)).toEqual(["whole", "whole"]);
  });

  it("is not a PUT of a stream: the failure is handed on and nothing is sent empty", async () => {
    const { client, finish, seen } = bench([failing, working]);
    const body = new Blob(["once"]).stream();
    const init = { method: "PUT", body, duplex: "half" } as RequestInit;
    const response = await finish(client.fetch(URL_OF_TESTS, init));
    expect([response.status, seen.length]).toEqual([503, 1]);
    expect(outcomeOf(response)?.stopped).toBe("not-replayable");
  });

  it("is not the body of a Request, which is a stream whatever it was made of", async () => {
    const { client, finish, seen } = bench([failing, working]);
    const response = await finish(client.fetch(new Request(URL_OF_TESTS, { method: "PUT", body: "text" })));
    expect([response.status, seen.length]).toEqual([503, 1]);
  });

  it.each([
    ["bytes", new Uint8Array(3)],
    ["a buffer", new ArrayBuffer(3)],
    ["a form", new FormData()],
    ["a blob", new Blob(["x"])],
    ["URL parameters", new URLSearchParams("a=1")],
  ])("is %s", async (_name, body) => {
    const { client, finish, seen } = bench([failing, working]);
    await finish(client.fetch(URL_OF_TESTS, { method: "PUT", body }));
    expect(seen.length).toBe(2);
  });

  it("is a POST only when asked: by a key, by the call, or by the client", async () => {
    const post = { method: "POST", body: "x" };
    const plain = bench([failing, working]);
    const response = await plain.finish(plain.client.fetch(URL_OF_TESTS, post));
    expect([response.status, outcomeOf(response)?.stopped, plain.seen.length]).toEqual([503, "not-idempotent", 1]);
    const keyed = bench([failing, working]);
    await keyed.finish(keyed.client.fetch(URL_OF_TESTS, { ...post, headers: { "Idempotency-Key": "k1" } }));
    expect(keyed.seen.length).toBe(2);
    const asked = bench([failing, working]);
    await asked.finish(asked.client.request(URL_OF_TESTS, post, { idempotent: true }));
    expect(asked.seen.length).toBe(2);
    const configured = bench([failing, working], { retry: { methods: ["post"] } });
    await configured.finish(configured.client.fetch(URL_OF_TESTS, post));
    expect(configured.seen.length).toBe(2);
  });

  it("is a POST that found nobody to take it", async () => {
    const { client, finish, seen } = bench([{ error: "ECONNREFUSED" }, working]);
    await finish(client.fetch(URL_OF_TESTS, { method: "POST", body: "x" }));
    expect(seen.length).toBe(2);
  });

  it("is what shouldRetry says, but never a stream", async () => {
    const always = { retry: { shouldRetry: () => true }, random: () => 0 };
    const teapot = bench([{ status: 418 }, working], always);
    await teapot.finish(teapot.client.fetch(URL_OF_TESTS, { method: "POST", body: "x" }));
    expect(teapot.seen.length).toBe(2);
    const stream = bench([failing, working], always);
    await stream.finish(stream.client.fetch(URL_OF_TESTS, { method: "PUT", body: new Blob(["x"]).stream() }));
    expect(stream.seen.length).toBe(1);
    const never = bench([failing], { retry: { shouldRetry: ({ response }) => response?.status !== 503 } });
    expect((await never.finish(never.request())).stopped).toBe("should-retry");
  });

  it("is nothing after a quota is spent, read from the body that stays to be read", async () => {
    const body = JSON.stringify({ error: { code: "insufficient_quota" } });
    const spent = { status: 429, headers: { "content-type": "application/json", "retry-after": "1" }, body };
    const { client, finish, seen } = bench([spent]);
    const response = await finish(client.fetch(URL_OF_TESTS));
    expect([seen.length, outcomeOf(response)?.stopped, await response.text()]).toEqual([1, "quota-spent", body]);
  });

  it("is nothing when the cost can never fit (C06 e)", async () => {
    const headers = { "content-type": "application/json; charset=utf-8" };
    const { request, finish, seen } = bench([{ status: 429, headers, body: '{"code":"SPILLWAY_NEVER"}' }]);
    expect([(await finish(request())).stopped, seen.length]).toEqual(["told-not-to", 1]);
  });
});

describe("Retry-After", () => {
  const date = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toUTCString();

  it.each([
    ["3", 3000, 4000],
    [date(3000), 3000, 4000],
    ["0", 0, 1000],
  ])("%s is a floor for the first retry", async (value, leastMs, mostMs) => {
    for (const chance of [0, 0.999]) {
      const { request, finish, seen } = bench([{ status: 429, headers: { "retry-after": value } }, working], {
        random: () => chance,
        pause: false,
      });
      await finish(request());
      expect(seen[1]?.atMs).toBeGreaterThanOrEqual(leastMs);
      expect(seen[1]?.atMs).toBeLessThanOrEqual(mostMs);
    }
  });

  it.each(["soon", "", " ", "1000abc", "-5", "1e3", "0x10", "Infinity", "1.5", "5, 10", "\u00b2"])(
    "%j counts as absent: the usual waits, and no more than the usual attempts (C05)",
    async (value) => {
      const { request, finish, seen } = bench([{ status: 429, headers: { "retry-after": value } }], {
        retry: { limit: 2, backoffBase: 100, backoffLimit: "2s" },
        random: () => 0.5,
      });
      await finish(request());
      expect(seen.map(({ atMs }) => atMs)).toEqual([0, 50, 150]);
    },
  );

  it("beyond maxRetryAfter, or beyond the deadline, ends the call at once with the wait in hand", async () => {
    const ask = (retryAfter: string) => [{ status: 429, headers: { "retry-after": retryAfter } }];
    const long = bench(ask("61"), { deadline: false });
    expect(await long.finish(long.request())).toMatchObject({
      stopped: "wait-too-long",
      retryAfterMs: 61_000,
      tookMs: 0,
    });
    const late = bench(ask("20"));
    expect(await late.finish(late.request())).toMatchObject({
      stopped: "out-of-time",
      retryAfterMs: 20_000,
      tookMs: 0,
    });
  });

  it("spreads a thousand callers who were all told 2 s (C20)", async () => {
    const { client, finish, seen } = bench(
      ({ atMs }) => (atMs < 2000 ? { status: 429, headers: { "retry-after": "2" } } : working),
      noLimits,
    );
    await finish(Promise.all(Array.from({ length: 1000 }, () => client.fetch(URL_OF_TESTS))));
    const times = seen.slice(1000).map(({ atMs }) => atMs);
    expect(times.length).toBe(1000);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(2000);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(500);
    const slots = new Map<number, number>();
    for (const atMs of times) slots.set(Math.floor(atMs / 50), (slots.get(Math.floor(atMs / 50)) ?? 0) + 1);
    expect(Math.max(...slots.values())).toBeLessThan(250);
  }, 20_000);
});

describe("the deadline", () => {
  it("goes along with each attempt, as what is left of it", async () => {
    const { request, finish, seen } = bench([failing, working], { deadline: "2s", random: () => 0.5 });
    await finish(request());
    expect(seen.map(({ headers }) => headers.get("x-request-deadline-ms"))).toEqual(["2000", "1950"]);
  });

  it("ends an attempt that hangs, with no timer left", async () => {
    const { client, finish, clock, seen } = bench([{ takesMs: 1e9 }], { deadline: "2s" });
    const error = await finish(client.fetch(URL_OF_TESTS).catch((reason) => reason));
    expect(clock.monotonicMs()).toBeLessThan(2100);
    expect(error).toBeInstanceOf(ClientError);
    expect([error.code, error.cause.name]).toEqual(["ERR_SPILLWAY_CALL_TIMEOUT", "TimeoutError"]);
    expect([outcomeOf(error)?.stopped, seen.length, clock.pendingTimers]).toEqual(["out-of-time", 1, 0]);
    expect(seen[0]?.init.signal?.aborted).toBe(true);
  });

  it("spans waits and attempts, and no retry is begun that usually takes longer than what is left", async () => {
    const { request, finish } = bench(({ url }) => ({ status: url.includes("bad") ? 503 : 200, takesMs: 400 }), {
      deadline: "1s",
      random: () => 0.999,
    });
    for (let call = 0; call < 3; call++) await finish(request());
    expect(await finish(request("http://service.test/bad"))).toMatchObject({
      stopped: "out-of-time",
      attempts: [{}, {}],
      tookMs: expect.closeTo(900, -2),
    });
  });

  it("of one call can be its own, or none", async () => {
    const { client, finish, seen } = bench([working]);
    await finish(client.request(URL_OF_TESTS, {}, { deadline: "30s" }));
    await finish(client.request(URL_OF_TESTS, {}, { deadline: false }));
    expect(seen.map(({ headers }) => headers.get("x-request-deadline-ms"))).toEqual(["30000", null]);
  });

  it("leaves room for another attempt where one attempt has an end of its own", async () => {
    const { request, finish, seen } = bench([{ takesMs: 1e9 }, working], { attemptTimeout: 300, random: () => 0 });
    expect((await finish(request())).kind).toBe("answered");
    expect(seen[1]?.atMs).toBeGreaterThanOrEqual(300);
    expect(seen[1]?.atMs).toBeLessThan(350);
  });

  it("holds for a fetch that heeds no signal, whose late answer is let go", async () => {
    const slow = bench([working], { deadline: 100 });
    let answer = (_response: Response): void => undefined;
    let cancelled = false;
    const deaf = bench([working], {
      deadline: 100,
      fetch: (() =>
        new Promise<Response>((resolve) => {
          answer = resolve;
        })) as typeof globalThis.fetch,
    });
    expect(await deaf.finish(deaf.request())).toMatchObject({ kind: "failed", stopped: "out-of-time" });
    answer(
      new Response(
        new ReadableStream({
          cancel: () => {
            cancelled = true;
          },
        }),
      ),
    );
    await slow.pass(10);
    expect(cancelled).toBe(true);
  });
});

describe("an abort", () => {
  it("before the call sends nothing", async () => {
    const { client, seen } = bench([working]);
    await expect(client.fetch(URL_OF_TESTS, { signal: AbortSignal.abort("why") })).rejects.toBe("why");
    expect([seen.length, client.stats().attempts, client.stats().aborted]).toEqual([0, 0, 1]);
  });

  it("ends a wait at once, with its own reason, no timer left and the retry paid back", async () => {
    const { client, pass, clock, seen, letGo } = bench([{ status: 503, headers: { "retry-after": "5" } }]);
    const controller = new AbortController();
    const result = client.fetch(URL_OF_TESTS, { signal: controller.signal }).catch((reason) => reason);
    await pass(1000);
    expect([clock.pendingTimers, client.stats().origins[0]?.budgetLeft]).toEqual([1, 9]);
    controller.abort("enough");
    expect(await result).toBe("enough");
    expect([clock.pendingTimers, seen.length, letGo]).toEqual([0, 1, [0]]);
    expect(client.stats().origins[0]?.budgetLeft).toBe(10);
  });

  it("ends an attempt at once, also one whose fetch heeds no signal", async () => {
    const { client, pass, clock } = bench([], {
      fetch: (() => new Promise(() => undefined)) as typeof globalThis.fetch,
    });
    const controller = new AbortController();
    const result = client.request(URL_OF_TESTS, { signal: controller.signal }).catch((reason) => reason);
    await pass(10);
    controller.abort("enough");
    expect(await result).toBe("enough");
    expect([clock.pendingTimers, client.stats().inFlight]).toEqual([0, 0]);
  });

  it("still ends a body that is being read", async () => {
    const { client, finish, seen } = bench([working]);
    const controller = new AbortController();
    const response = await finish(client.fetch(URL_OF_TESTS, { signal: controller.signal }));
    controller.abort("enough");
    expect(seen[0]?.init.signal?.reason).toBe("enough");
    expect(response.body).not.toBeNull();
  });

  it("of a signal that a thousand calls share warns of no leak", async () => {
    const warnings: unknown[] = [];
    const note = (warning: unknown): number => warnings.push(warning);
    process.on("warning", note);
    const { client, pass } = bench([{ takesMs: 1e6 }]);
    const controller = new AbortController();
    const calls = Array.from({ length: 1000 }, () =>
      client.fetch(URL_OF_TESTS, { signal: controller.signal }).catch(() => undefined),
    );
    await pass(20);
    controller.abort();
    await Promise.all(calls);
    await pass(20);
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });
});
