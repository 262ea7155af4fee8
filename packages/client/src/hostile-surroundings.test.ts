import { describe, expect, it, onTestFinished } from "vitest";
import { onBehalfOf } from "./caller-context.ts";
import { createClient } from "./client.ts";
import type { ClientOptions } from "./client-options.ts";
import { outcomeOf } from "./outcome.ts";
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
    [
      "rejects with what has no text",
      async () => {
        throw Object.create(null);
      },
    ],
  ])("as onRetry and %s is warned about once, and changes no call", async (_how, onRetry) => {
    const heard = warnings();
    const rig = bench(failing, { ...bare, ...(onRetry && { onRetry }) });
    const outcome = await rig.finish(rig.request());
    expect([outcome.stopped, outcome.attempts.length, rig.client.stats().aborted]).toEqual(["attempts-used", 4, 0]);
    await settle();
    expect(heard).toEqual([
      expect.stringMatching(/^SpillwayWarning: onRetry (threw|rejected): (Error: mine|an object of no class)$/),
    ]);
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
  it("holds a call without a deadline back for two minutes at most, also behind one that hangs", async () => {
    const headers = { "ratelimit-policy": '"a";q=1;w=31536000', ratelimit: '"a";r=0;t=31536000' };
    const rig = bench([{ headers }, { takesMs: 1e9 }], { deadline: false });
    await rig.finish(rig.request());
    const [hangs, waits] = [new AbortController(), new AbortController()];
    const calls = [hangs, waits].map(({ signal }) => rig.request(URL_OF_TESTS, { signal }).catch(() => undefined));
    await rig.pass(62_000, 500);
    expect(rig.seen.length).toBe(2);
    await rig.pass(62_000, 500);
    expect(rig.seen.length).toBe(3);
    hangs.abort();
    waits.abort();
    await Promise.all(calls);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it("refuses at once whoever has less time, and tells the wait in full", async () => {
    const headers = { "ratelimit-policy": '"a";q=1;w=3600', ratelimit: '"a";r=0;t=3600' };
    const rig = bench([{ headers }, {}], { maxWaiting: 10, retry: { maxRetryAfter: "1s" } });
    await rig.finish(rig.request());
    const waiting = rig.request();
    const behind = await rig.request();
    expect([behind.kind, behind.stopped]).toEqual(["refused", "paused"]);
    expect(behind.retryAfterMs).toBeGreaterThan(3_600_000);
    expect((await rig.finish(waiting)).kind).toBe("answered");
  });
});

describe("a breaker as its callers see it (C21)", () => {
  const breaker = { openFor: "1s", minimumCalls: 5, probes: 1 } as const;
  const options: ClientOptions = { ...bare, retry: 0, breaker, random: () => 0 };
  const hundred = (rig: ReturnType<typeof bench>) => Promise.all(Array.from({ length: 100 }, () => rig.request()));

  it("opens once for six calls that fail together, and one good call closes it a second later (C21 a)", async () => {
    const states: string[] = [];
    const onStateChange = ({ state }: { state: string }): void => void states.push(state);
    const rig = bench(({ atMs }) => ({ status: atMs < 1000 ? 500 : 200 }), { ...options, onStateChange });
    await rig.finish(Promise.all(Array.from({ length: 6 }, () => rig.request())));
    await rig.pass(1200);
    expect((await rig.finish(rig.request())).kind).toBe("answered");
    expect(states).toEqual(["open", "half-open", "closed"]);
  });

  it("lets one of a hundred through to find out, ninety-nine fail at once, and all go when it did well (C21 b)", async () => {
    const rig = bench(
      ({ atMs }) => (atMs < 2000 ? { status: 500, takesMs: atMs < 500 ? 0 : 300 } : { takesMs: 300 }),
      options,
    );
    for (let call = 0; call < 5; call++) await rig.finish(rig.request());
    for (const [passMs, kept] of [
      [1050, 6],
      [1350, 7],
    ] as const) {
      await rig.pass(passMs);
      const outcomes = await rig.finish(hundred(rig));
      expect([rig.seen.length, outcomes.filter(({ kind }) => kind === "refused").length]).toEqual([kept, 99]);
      expect(Math.max(...outcomes.filter(({ kind }) => kind === "refused").map(({ tookMs }) => tookMs))).toBe(0);
    }
    const all = await rig.finish(hundred(rig));
    expect(all.every(({ kind }) => kind === "answered")).toBe(true);
  });

  it("is not stuck by a probe that never settles, nor by one whose caller goes away (C21 c)", async () => {
    let number = 0;
    const rig = bench(() => (++number <= 5 ? { status: 500 } : number <= 7 ? { takesMs: 1e9 } : {}), {
      ...options,
      deadline: false,
    });
    for (let call = 0; call < 5; call++) await rig.finish(rig.request());
    await rig.pass(1050);
    const stuck = new AbortController();
    const first = rig.request(URL_OF_TESTS, { signal: stuck.signal }).catch(() => undefined);
    await rig.pass(1050);
    expect((await rig.request()).kind).toBe("refused");
    await rig.pass(1050);
    const leaves = new AbortController();
    const second = rig.request(URL_OF_TESTS, { signal: leaves.signal }).catch(() => undefined);
    await rig.pass(50);
    leaves.abort();
    await second;
    expect((await rig.finish(rig.request())).kind).toBe("answered");
    stuck.abort();
    await first;
    expect(rig.client.stats()).toMatchObject({ inFlight: 0, origins: [{ breaker: "closed" }] });
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

  it.each([429, 503])(
    "a Retry-After of thirty years after a %d holds other calls back for the longest wait, and a tenth of it",
    async (status) => {
      const rig = bench([{ status, headers: { "retry-after": "999999999" } }, {}], {
        deadline: "10m",
        random: () => 0.9,
      });
      await rig.finish(rig.request());
      const other = await rig.finish(rig.request());
      expect(other.kind).toBe("answered");
      expect(other.waitedMs).toBeGreaterThan(65_000);
      expect(other.waitedMs).toBeLessThan(66_100);
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
