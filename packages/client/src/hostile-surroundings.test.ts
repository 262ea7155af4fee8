import { describe, expect, it, onTestFinished } from "vitest";
import { onBehalfOf } from "./caller-context.ts";
import { createClient } from "./client.ts";
import type { ClientOptions } from "./client-options.ts";
import { outcomeOf } from "./outcome.ts";
import { QuotaGate } from "./quota-gate.ts";
import { bench, settle, URL_OF_TESTS } from "./test-support.ts";

const failing = [{ status: 503 }];
const bare: ClientOptions = { budget: false, throttle: false };

/** Warnings of this process from here on. */
function warnings(): string[] {
  const heard: string[] = [];
  const listener = (warning: Error): void => void heard.push(`${warning.name}: ${warning.message}`);
  process.on("warning", listener);
  onTestFinished(() => void process.off("warning", listener));
  return heard;
}

describe("what a caller hands in", () => {
  it.each<[string, ClientOptions["onRetry"]]>([
    [
      "throws",
      () => {
        throw new Error("mine");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("mine");
      },
    ],
  ])("as onRetry and %s is warned about once, and changes no call", async (_how, onRetry) => {
    const heard = warnings();
    const rig = bench(failing, { ...bare, ...(onRetry && { onRetry }) });
    const outcome = await rig.finish(rig.request());
    expect([outcome.stopped, outcome.attempts.length, rig.client.stats().aborted]).toEqual(["attempts-used", 4, 0]);
    await settle();
    expect(heard).toEqual([expect.stringMatching(/^SpillwayWarning: onRetry (threw|rejected): Error: mine$/)]);
  });

  it("as onStateChange and throws leaves breaker and counts as they should be", async () => {
    const heard = warnings();
    let told = 0;
    const onStateChange = (): void => {
      told++;
      throw new Error("mine");
    };
    const breaker = { openFor: 1000, minimumCalls: 5 };
    const rig = bench(({ atMs }) => ({ status: atMs < 500 ? 500 : 200 }), {
      ...bare,
      retry: 0,
      breaker,
      onStateChange,
    });
    for (let call = 0; call < 5; call++) await rig.finish(rig.request());
    expect(rig.client.stats()).toMatchObject({ inFlight: 0, origins: [{ breaker: "open" }] });
    await rig.pass(1200);
    for (let call = 0; call < 40; call++) expect((await rig.finish(rig.request())).kind).toBe("answered");
    expect(rig.client.stats()).toMatchObject({ inFlight: 0, aborted: 0, origins: [{ breaker: "closed" }] });
    await settle();
    expect([told, heard.length]).toEqual([3, 1]);
  });

  it.each<() => unknown>([async () => true, () => Promise.reject(new Error("mine")), () => "yes", () => 1, () => null])(
    "as shouldRetry and answers %s is told what was expected, and the answer is let go",
    async (shouldRetry) => {
      const rig = bench(failing, { retry: { shouldRetry: shouldRetry as () => boolean } });
      await expect(rig.finish(rig.request())).rejects.toThrow(/retry\.shouldRetry.*true, false or undefined, at once/);
      expect([rig.letGo, rig.client.stats().inFlight]).toEqual([[0], 0]);
    },
  );

  it.each([undefined, 7, Promise.resolve("a")])("as scope and gives %s is told what was expected", async (scope) => {
    const rig = bench(failing, { scope: () => scope as unknown as string });
    await expect(rig.request()).rejects.toThrow(/scope.*text, at once/);
    expect(rig.seen.length).toBe(0);
  });

  it.each([Number.NaN, -1, 1, 7, Number.POSITIVE_INFINITY, undefined])(
    "as random and gives %s makes no wait of it that is none",
    async (chance) => {
      const rig = bench([{ status: 503, headers: { "retry-after": "2" } }, { status: 503 }, {}], {
        random: () => chance as number,
      });
      const { attempts } = await rig.finish(rig.request());
      const waits = attempts.map(({ waitedMs }) => waitedMs);
      expect(waits[1]).toBeGreaterThanOrEqual(2000);
      expect(waits[1]).toBeLessThanOrEqual(3050);
      expect(waits[2]).toBeLessThanOrEqual(250);
    },
  );

  it.each(["yes", 1, null])("as idempotent and is %j is told what was expected", async (idempotent) => {
    const rig = bench(failing);
    const call = rig.client.request(URL_OF_TESTS, {}, { idempotent: idempotent as unknown as boolean });
    await expect(call).rejects.toThrow(/idempotent.*true or false/);
  });

  it.each([undefined, null, "x-request-attempt: 1"])(
    "as the headers of a request and is %j is told what was expected",
    (headers) => {
      expect(() => onBehalfOf(headers as unknown as Headers, () => 1)).toThrow(/headers.*incoming request/);
    },
  );
});

describe("an incoming attempt header", () => {
  it.each(["1\n2", "\u2026", "", "  ", "-1", "9".repeat(50)])(
    "of %j is not sent on as it is, and retries are left to its caller",
    async (value) => {
      const rig = bench(failing, bare);
      const call = onBehalfOf({ "x-request-attempt": value }, () => rig.request());
      expect((await rig.finish(call)).stopped).toBe("nested");
      expect(rig.seen.map(({ headers }) => headers.get("x-request-attempt"))).toEqual(["1"]);
      expect(rig.client.stats()).toMatchObject({ inFlight: 0, aborted: 0 });
    },
  );
});

describe("a fetch of another kind", () => {
  it("whose bodies know no cancelling is retried all the same", async () => {
    let requests = 0;
    const fetch = async () =>
      ({ status: ++requests < 3 ? 503 : 200, headers: new Headers(), body: {} }) as unknown as Response;
    const rig = bench([], { ...bare, fetch });
    const outcome = await rig.finish(rig.request());
    expect([outcome.kind, requests]).toEqual(["answered", 3]);
  });

  it.each([undefined, null, "text", {}])("that answers %j fails the call, and counts stay right", async (answer) => {
    const rig = bench([], { ...bare, fetch: (async () => answer) as unknown as typeof fetch });
    const outcome = await rig.finish(rig.request());
    expect(outcome).toMatchObject({ kind: "failed", error: expect.any(TypeError), stopped: "not-transient" });
    expect(rig.client.stats()).toMatchObject({ inFlight: 0 });
  });

  it("that throws at once fails the call alike", async () => {
    const rig = bench([], {
      ...bare,
      fetch: () => {
        throw new TypeError("mine");
      },
    });
    expect(await rig.finish(rig.request())).toMatchObject({ kind: "failed", stopped: "not-transient" });
  });
});

describe("a 429 whose JSON does not end", () => {
  const json = { "content-type": "application/json", "retry-after": "60" };
  const endless = (text: string) =>
    new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) }), {
      status: 429,
      headers: json,
    });

  it("is handed on after a second, with its body still to be read", async () => {
    const rig = bench([], { deadline: "10s", fetch: async () => endless('{"error":') });
    const outcome = await rig.finish(rig.request());
    expect(outcome).toMatchObject({ kind: "answered", stopped: "out-of-time", retryAfterMs: 60_000 });
    expect(outcome.tookMs).toBeGreaterThanOrEqual(1000);
    expect(outcome.tookMs).toBeLessThanOrEqual(1050);
    expect(rig.clock.pendingTimers).toBe(0);
    if (outcome.kind !== "answered") return;
    const { value } = await (outcome.response.body as ReadableStream<Uint8Array>).getReader().read();
    expect(new TextDecoder().decode(value)).toBe('{"error":');
  });

  it("ends at once by an abort", async () => {
    const rig = bench([], { fetch: async () => endless("{") });
    const controller = new AbortController();
    const call = rig.request(URL_OF_TESTS, { signal: controller.signal }).catch((reason: unknown) => reason);
    await rig.pass(100);
    controller.abort("enough");
    expect(await call).toBe("enough");
    expect([rig.clock.pendingTimers, rig.client.stats().inFlight]).toEqual([0, 0]);
  });

  it("is not waited for beyond the deadline", async () => {
    const rig = bench([], { deadline: 300, fetch: async () => endless("{") });
    const outcome = await rig.finish(rig.request());
    expect(outcome.kind).toBe("answered");
    expect(outcome.tookMs).toBeLessThanOrEqual(350);
  });
});

describe("a policy of one request in a year", () => {
  it("holds nobody back for longer than the longest wait, since it is forgotten first", () => {
    const gate = new QuotaGate(60_000);
    const place = gate.sent(gate.join());
    gate.settled(place, [{ policy: "a", remaining: 0, resetMs: 1e11, limit: 1, windowMs: 31_536_000_000 }], 0);
    gate.join();
    const second = gate.join();
    expect(gate.slot(second, 0).atMs).toBe(60_000);
    expect(gate.slot(second, 60_000).atMs).toBe(120_000);
    expect(gate.slot(second, 120_000).atMs).toBe(120_000);
  });

  it("lets a call go that has no deadline", async () => {
    const headers = { "ratelimit-policy": '"a";q=1;w=31536000', ratelimit: '"a";r=0;t=31536000' };
    const rig = bench([{ headers }, {}], { deadline: false });
    await rig.finish(rig.request());
    const calls = [rig.request(), rig.request()];
    for (const call of calls) expect((await rig.finish(call, 400_000)).kind).toBe("answered");
    expect(rig.clock.pendingTimers).toBe(0);
  });
});

describe("clocks", () => {
  it("of the wall that are stepped while a call waits change no wait", async () => {
    const date = "Thu, 01 Jan 1970 00:00:05 GMT";
    for (const stepMs of [-86_400_000, 86_400_000]) {
      const rig = bench([{ status: 503, headers: { date: "Thu, 01 Jan 1970 00:00:00 GMT", "retry-after": date } }, {}]);
      const call = rig.request();
      await rig.pass(1000);
      rig.clock.stepWall(stepMs);
      const outcome = await rig.finish(call);
      expect(outcome.attempts[1]?.waitedMs).toBeGreaterThanOrEqual(5000);
      expect(outcome.attempts[1]?.waitedMs).toBeLessThan(6100);
    }
  });

  it.each(["Fri, 31 Dec 9999 23:59:59 GMT", "9".repeat(400), "99999999999999999999"])(
    "a Retry-After of %s ends the call at once, as a number",
    async (value) => {
      const rig = bench([{ status: 503, headers: { "retry-after": value } }], { deadline: false });
      const outcome = await rig.finish(rig.request());
      expect([outcome.stopped, outcome.tookMs, Number.isSafeInteger(outcome.retryAfterMs)]).toEqual([
        "wait-too-long",
        0,
        true,
      ]);
    },
  );

  it.each(["Thu, 01 Jan 1970 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "0"])(
    "a Retry-After of %s is over, and spread all the same",
    async (value) => {
      const rig = bench([{ status: 503, headers: { "retry-after": value } }, {}], { random: () => 0.5 });
      expect((await rig.finish(rig.request())).attempts[1]?.waitedMs).toBeGreaterThanOrEqual(450);
    },
  );
});

it("rejects, and throws nothing at once, for bad arguments", async () => {
  const { fetch } = createClient();
  for (const [input, init] of [
    ["http://[", {}],
    ["http://service.test/", { headers: { "bad name": "x" } }],
    ["http://service.test/", { signal: "no signal" }],
    [null, {}],
    [Symbol("url"), {}],
  ] as const) {
    const call = fetch(input as unknown as string, init as unknown as RequestInit);
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(TypeError);
    expect(outcomeOf(error)?.attempts.length ?? 0).toBeLessThanOrEqual(1);
  }
});
