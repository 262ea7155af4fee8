import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LimitedRequest } from "./limited-exchange.ts";
import type { DecisionLike } from "./limiter-like.ts";
import type { RateLimitMiddlewareOptions } from "./middleware-options.ts";
import { rateLimitMiddleware } from "./rate-limit-middleware.ts";
import { decisionOf } from "./request-note.ts";
import { admission, KeptResponse, minute, refusal, scriptedLimiter, someRequest } from "./test-support.ts";

type Options = Omit<RateLimitMiddlewareOptions, "limiter">;

/** Sends one request through a middleware, and waits until it has settled. */
async function visit(
  answer: () => DecisionLike | Promise<DecisionLike>,
  options: Options = {},
  request: LimitedRequest = someRequest(),
) {
  const limiter = scriptedLimiter(answer);
  const response = new KeptResponse();
  const next = vi.fn();
  rateLimitMiddleware({ limiter, ...options })(request, response, next);
  await settled();
  return { response, next, calls: limiter.calls, request };
}

const settled = () => new Promise(setImmediate);

/** The process warnings of ours while a test runs. */
function warnings(): string[] {
  const heard: string[] = [];
  const listen = (warning: Error) => {
    if (warning.name === "SpillwayWarning") heard.push(warning.message);
  };
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  return heard;
}

describe.each([
  ["decided at once", (decision: DecisionLike) => () => decision],
  ["decided by the store", (decision: DecisionLike) => () => Promise.resolve(decision)],
])("a request %s", (_title, as) => {
  it("goes in with the fields on its answer", async () => {
    const { response, next, request } = await visit(as(admission));
    expect(next.mock.calls).toEqual([[]]);
    expect(response.headers).toEqual({ "ratelimit-policy": '"minute";q=3;w=60', ratelimit: '"minute";r=2;t=20' });
    expect(decisionOf(request)).toBe(admission);
    expect(response.listenerCount("close")).toBe(0);
  });

  it("is refused with 429, Retry-After and a problem document, and goes no further", async () => {
    const { response, next, request } = await visit(as(refusal));
    expect(next).not.toHaveBeenCalled();
    expect(response.statusCode).toBe(429);
    expect(response.headers).toEqual({
      "ratelimit-policy": '"minute";q=3;w=60',
      ratelimit: '"minute";r=0;t=4',
      "retry-after": "4",
      "content-type": "application/problem+json",
      "content-length": "186",
    });
    expect(JSON.parse(response.body as string)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota exceeded",
      status: 429,
      detail: "Over the limit, come back later.",
      "violated-policies": ["minute"],
    });
    expect(decisionOf(request)).toBe(refusal);
  });

  it("that nobody could decide, with a store that is away, is no fault of the caller: 503, with its wait", async () => {
    const { response, next } = await visit(as({ ...refusal, source: "closed" }));
    expect(next).not.toHaveBeenCalled();
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([503, "4"]);
    expect(JSON.parse(response.body as string)).toMatchObject({ title: "Temporary reduced capacity", status: 503 });
  });

  it("that can never go in gets no Retry-After, and one that is blocked another problem", async () => {
    for (const retryAfterMs of [Number.POSITIVE_INFINITY, 3200]) {
      const { response } = await visit(as({ ...refusal, reason: "never", retryAfterMs }));
      expect([response.statusCode, response.headers["retry-after"]]).toEqual([429, undefined]);
      expect(response.headers["x-should-retry"]).toBe("false");
    }
    const blocked = await visit(as({ ...refusal, reason: "blocked" }));
    expect(blocked.response.headers["retry-after"]).toBe("4");
    expect(blocked.response.headers["x-should-retry"]).toBeUndefined();
    expect(JSON.parse(blocked.response.body as string).type).toMatch(/#abnormal-usage-detected$/);
  });

  it("in a dry run goes in without fields, and onRefused is told", async () => {
    const onRefused = vi.fn();
    const { response, next, request } = await visit(as(refusal), { dryRun: true, onRefused, legacyHeaders: "delta" });
    expect(next.mock.calls).toEqual([[]]);
    expect([response.statusCode, response.headers]).toEqual([200, {}]);
    expect(onRefused.mock.calls).toEqual([[request, refusal]]);
    expect(decisionOf(request)).toBe(refusal);
  });

  it("of a limiter in a dry run goes in, and onRefused is told what was waived", async () => {
    const onRefused = vi.fn();
    const { next, request } = await visit(as({ allowed: true, policies: [minute], waived: refusal }), { onRefused });
    expect(next.mock.calls).toEqual([[]]);
    expect(onRefused.mock.calls).toEqual([[request, refusal]]);
  });

  it("whose reply was begun before it came is passed on uncounted", () => {
    const limiter = scriptedLimiter(as(refusal));
    const [response, next] = [new KeptResponse(), vi.fn()];
    response.end("early");
    rateLimitMiddleware({ limiter })(someRequest(), response, next);
    expect([next.mock.calls, limiter.calls, response.body]).toEqual([[[]], [], "early"]);
  });

  it("that is mounted twice counts once, and by two middlewares twice", async () => {
    const limiter = scriptedLimiter(as(admission));
    const daily = scriptedLimiter(as({ allowed: true, policies: [{ ...minute, policy: "daily", remaining: 1 }] }));
    const [first, second] = [rateLimitMiddleware({ limiter }), rateLimitMiddleware({ limiter: daily })];
    const [request, response] = [someRequest(), new KeptResponse()];
    for (const middleware of [first, first, second, first, second]) {
      const next = vi.fn();
      middleware(request, response, next);
      await settled();
      expect(next.mock.calls).toEqual([[]]);
    }
    expect([limiter, daily].map(({ calls }) => calls.filter(({ how }) => how === "now").length)).toEqual([1, 1]);
    expect(response.headers).toEqual({
      "ratelimit-policy": '"minute";q=3;w=60,"daily";q=3;w=60',
      ratelimit: '"minute";r=2;t=20,"daily";r=1;t=20',
    });
  });
});

describe("the limiter is asked", () => {
  it("for the address and no cost, unless told otherwise", async () => {
    expect((await visit(() => admission)).calls).toEqual([{ key: "ip:192.0.2.1", options: undefined, how: "now" }]);
    const request = someRequest({ headers: { "x-user": "7" } });
    const options: Options = { key: ({ headers }) => headers["x-user"] as string, cost: { minute: 2 } };
    expect((await visit(() => admission, options, request)).calls).toEqual([
      { key: "7", options: { cost: { minute: 2 } }, how: "now" },
    ]);
    expect((await visit(() => admission, { cost: () => 5 })).calls[0]?.options).toEqual({ cost: 5 });
  });

  it("a second time only where the first gave no decision, then with a signal", async () => {
    const { calls } = await visit(() => Promise.resolve(admission), { cost: 2 });
    expect(calls.map(({ how, options }) => [how, options?.cost])).toEqual([
      ["now", 2],
      ["later", 2],
    ]);
    expect(calls[1]?.options?.signal?.aborted).toBe(false);
  });

  it("not for a request that is skipped, nor for a preflight unless told so", async () => {
    const skipped = await visit(() => refusal, { skip: ({ method }) => method === "GET" });
    expect([skipped.next.mock.calls, skipped.calls, skipped.response.headers]).toEqual([[[]], [], {}]);
    expect(decisionOf(skipped.request)).toBeUndefined();
    const headers = { origin: "https://example.com", "access-control-request-method": "GET" };
    const preflight = someRequest({ method: "OPTIONS", headers });
    expect((await visit(() => refusal, {}, preflight)).next.mock.calls).toEqual([[]]);
    expect((await visit(() => refusal, { preflights: true }, preflight)).response.statusCode).toBe(429);
    for (const name of Object.keys(headers)) {
      const plain = someRequest({ method: "OPTIONS", headers: { [name]: "GET" } });
      expect((await visit(() => refusal, {}, plain)).response.statusCode).toBe(429);
    }
  });
});

describe("the answer by option", () => {
  it("has no draft fields with headers false, and the earlier ones with legacyHeaders", async () => {
    const { response } = await visit(() => admission, { headers: false, legacyHeaders: "delta" });
    expect(response.headers).toEqual({
      "x-ratelimit-limit": "3",
      "x-ratelimit-remaining": "2",
      "x-ratelimit-reset": "40",
    });
    const beforeMs = Date.now();
    const epoch = (await visit(() => admission, { legacyHeaders: "epoch" })).response.headers["x-ratelimit-reset"];
    expect(Number(epoch) * 1000).toBeGreaterThanOrEqual(beforeMs + 39_500);
    expect(Number(epoch) * 1000).toBeLessThan(Date.now() + 40_500);
  });

  it("speaks in the earlier fields of whatever binds among several middlewares, but for those in a dry run", async () => {
    const [request, response] = [someRequest(), new KeptResponse()];
    const withLeft = (remaining: number, dryRun: boolean) => {
      const limiter = scriptedLimiter(() => ({
        allowed: true,
        policies: [{ ...minute, limit: remaining, remaining }],
      }));
      return rateLimitMiddleware({ limiter, legacyHeaders: "delta", dryRun });
    };
    for (const middleware of [withLeft(1, true), withLeft(5, false), withLeft(9, false)])
      middleware(request, response, () => {});
    expect(response.headers["x-ratelimit-limit"]).toBe("5");
    expect(response.headers.ratelimit).toBe('"minute";r=5;t=20,"minute";r=9;t=20');
  });

  it("carries what stands for the key in both fields", async () => {
    const { response } = await visit(() => admission, { partitionKey: (key) => key.slice(0, 2) });
    expect(response.headers).toEqual({
      "ratelimit-policy": '"minute";q=3;w=60;pk=:aXA=:',
      ratelimit: '"minute";r=2;t=20;pk=:aXA=:',
    });
  });

  it("tells waits later by chance, never earlier", async () => {
    const told = new Set<string | undefined>();
    for (let n = 0; n < 200; n++)
      told.add((await visit(() => refusal, { retryAfterJitterMs: 2000 })).response.headers["retry-after"]);
    expect([...told].sort()).toEqual(["4", "5", "6"]);
  });

  it("is whatever respond sends, with status and fields set", async () => {
    const options: Options = { respond: (_request, response) => response.end("slow down") };
    const { response, next } = await visit(() => refusal, options);
    expect([response.statusCode, response.body, response.headers["retry-after"]]).toEqual([429, "slow down", "4"]);
    expect(response.headers["content-type"]).toBeUndefined();
    expect(next).not.toHaveBeenCalled();
  });

  it("has no fields for a decision about no policy", async () => {
    const { response } = await visit(() => ({ allowed: true, policies: [] }), { legacyHeaders: "delta" });
    expect(response.headers).toEqual({});
  });
});

describe("faults", () => {
  const boom = new Error("boom");
  const throws = (): never => {
    throw boom;
  };
  const rejects = (): never => Promise.reject(boom) as never;

  it.each<[string, Options, () => DecisionLike | Promise<DecisionLike>]>([
    ["key", { key: throws }, () => admission],
    ["cost", { cost: throws }, () => admission],
    ["skip", { skip: throws }, () => admission],
    ["partitionKey", { partitionKey: throws }, () => admission],
    ["onRefused", { onRefused: throws }, () => refusal],
    ["respond", { respond: throws }, () => refusal],
    ["respond, later", { respond: rejects }, () => refusal],
    ["the limiter, at once", {}, throws],
    ["the limiter, later", {}, () => Promise.reject(boom)],
  ])("what %s throws goes to next, once, and the answer is not that of a refusal", async (_who, options, answer) => {
    const { response, next } = await visit(answer, options);
    expect(next.mock.calls).toEqual([[boom]]);
    expect([response.statusCode, response.headers["retry-after"], response.headersSent]).toEqual([
      200,
      undefined,
      false,
    ]);
  });

  it.each([undefined, null, "route", "router", 0, "", false])(
    "%j, thrown, reaches next as an error and never as leave to go on",
    async (thrown) => {
      const key = () => {
        throw thrown;
      };
      const visits = [visit(() => admission, { key }), visit(() => Promise.reject(thrown))];
      for (const { next } of await Promise.all(visits)) {
        expect(next).toHaveBeenCalledTimes(1);
        const [error] = next.mock.calls[0] as [Error];
        expect(error.message).toMatch(/^The rate limit could not be decided: .* was thrown, which is no error\.$/);
        expect(error.cause).toBe(thrown);
      }
    },
  );

  it.each<[string, Options, string]>([
    [
      "a key that is a number",
      { key: () => 42 as never },
      "Option key must return a string, or undefined for the address",
    ],
    [
      "a key that comes late",
      { key: rejects },
      "Option key must return a string, or undefined for the address, at once",
    ],
    ["a cost that comes late", { cost: rejects }, "Option cost must return a whole number from 0, or one for each"],
    ["a skip that comes late", { skip: rejects }, "Option skip must return at once"],
  ])("%s is an error, never an admission or an unhandled rejection", async (_what, options, message) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const { next, calls } = await visit(() => admission, options);
    expect(next).toHaveBeenCalledTimes(1);
    expect((next.mock.calls[0] as [Error])[0].message).toContain(message);
    expect(calls).toEqual([]);
    await settled();
    expect(unhandled).not.toHaveBeenCalled();
  });

  it.each([
    ["is a number", () => 42 as never],
    ["comes late", rejects],
  ])("a partition key that %s is an error that names it, and no unhandled rejection", async (_how, partitionKey) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const { next } = await visit(() => admission, { partitionKey });
    expect(next).toHaveBeenCalledTimes(1);
    expect((next.mock.calls[0] as [Error])[0].message).toContain("Option partitionKey must be a function that returns");
    await settled();
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("a request without key and address is an error, never one of a shared bucket", async () => {
    for (const socket of [{}, null]) {
      const { next, calls } = await visit(() => admission, { key: () => null }, someRequest({ socket }));
      expect((next.mock.calls[0] as [Error & { code: string }])[0]).toMatchObject({
        code: "ERR_SPILLWAY_INVALID_KEY",
        message: "The request has no address, as on a Unix socket: give a key for every request.",
      });
      expect(calls).toEqual([]);
    }
  });

  it("in a dry run let the request in and are said once", async () => {
    const heard = warnings();
    const limiter = scriptedLimiter(() => admission);
    const middleware = rateLimitMiddleware({ limiter, key: throws, dryRun: true });
    const next = vi.fn();
    for (let n = 0; n < 3; n++) middleware(someRequest(), new KeptResponse(), next);
    await settled();
    expect(next.mock.calls).toEqual([[], [], []]);
    expect(heard).toEqual(["The rate limit's dry run could not decide: Error: boom"]);
  });

  it("of an onRefused that comes late are said once, and the refusal stands", async () => {
    const heard = warnings();
    const limiter = scriptedLimiter(() => refusal);
    const middleware = rateLimitMiddleware({ limiter, onRefused: rejects });
    for (let n = 0; n < 3; n++) {
      const response = new KeptResponse();
      middleware(someRequest(), response, () => {});
      expect(response.statusCode).toBe(429);
    }
    await settled();
    expect(heard).toEqual(["Option onRefused rejected: Error: boom"]);
  });

  it("of a handler are not taken for those of the limiter", () => {
    const middleware = rateLimitMiddleware({ limiter: scriptedLimiter(() => admission) });
    const next = vi.fn(throws);
    expect(() => middleware(someRequest(), new KeptResponse(), next)).toThrow(boom);
    expect(next).toHaveBeenCalledTimes(1);
  });
});

describe("a caller who goes away", () => {
  it("before the decision is not asked about", async () => {
    const gone = someRequest({ socket: { destroyed: true } });
    const { next, calls } = await visit(() => admission, {}, gone);
    expect([next.mock.calls, calls]).toEqual([[], []]);
  });

  it.each([
    ["an admission", admission],
    ["a refusal", refusal],
    ["a fault", new Error("given up")],
  ])(
    "while the store is asked: the limiter is told to give up, and %s that comes then runs nothing",
    async (_what, then) => {
      let conclude = () => {};
      const deciding = new Promise<DecisionLike>((resolve, reject) => {
        conclude = () => (then instanceof Error ? reject(then) : resolve(then));
      });
      const limiter = scriptedLimiter(() => deciding);
      const [response, next] = [new KeptResponse(), vi.fn()];
      rateLimitMiddleware({ limiter })(someRequest(), response, next);
      response.emit("close");
      expect(limiter.calls[1]?.options?.signal?.aborted).toBe(true);
      conclude();
      await settled();
      expect([next.mock.calls, response.headers, response.headersSent]).toEqual([[], {}, false]);
      expect(response.listenerCount("close")).toBe(0);
    },
  );

  it("or whom someone else has answered meanwhile, is not answered again", async () => {
    let conclude = (_decision: DecisionLike) => {};
    const deciding = new Promise<DecisionLike>((resolve) => {
      conclude = resolve;
    });
    const [response, next] = [new KeptResponse(), vi.fn()];
    rateLimitMiddleware({ limiter: scriptedLimiter(() => deciding) })(someRequest(), response, next);
    response.end("gave up");
    conclude(refusal);
    await settled();
    expect([next.mock.calls, response.body]).toEqual([[], "gave up"]);
  });
});
