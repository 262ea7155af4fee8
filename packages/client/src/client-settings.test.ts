import { isSpillwayError } from "spillway";
import { describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import type { ClientOptions } from "./client-options.ts";
import { resolveClientOptions } from "./client-settings.ts";

const wrong: [string, unknown, RegExp][] = [
  ["retry", "3", /retry must be an object, got "3"/],
  ["retry", { limit: -1 }, /retry.limit must be a whole number from 0 to 100, got -1/],
  ["retry", Number.NaN, /retry.limit .* got NaN/],
  ["retry", { limits: 3 }, /retry.limits must be one of limit,/],
  ["retry", { methods: "GET" }, /retry.methods must be an array of names of methods, got "GET"/],
  ["retry", { methods: ["A B"] }, /retry.methods/],
  ["retry", { statusCodes: [200] }, /retry.statusCodes must be an array of statuses from 400 to 599/],
  ["retry", { errorCodes: [1] }, /retry.errorCodes/],
  ["retry", { maxRetryAfter: -1 }, /retry.maxRetryAfter must be a duration/],
  ["retry", { maxRetryAfter: "soon" }, /retry.maxRetryAfter .* got "soon"/],
  ["retry", { backoffBase: 0 }, /retry.backoffBase/],
  ["retry", { backoffBase: "2s", backoffLimit: "1s" }, /retry.backoffLimit must be a duration from 2000 ms/],
  ["retry", { jitter: "some" }, /retry.jitter must be one of full, equal, decorrelated, none, got "some"/],
  ["retry", { shouldRetry: true }, /retry.shouldRetry must be a function, got true/],
  ["deadline", 0, /deadline must be a duration from 1 ms/],
  ["deadline", Number.POSITIVE_INFINITY, /deadline .* got Infinity/],
  ["attemptTimeout", false, /attemptTimeout must be a duration/],
  ["budget", { ratio: 1.5 }, /budget.ratio must be a number from 0 to 1, got 1.5/],
  ["budget", { reserve: 0.5 }, /budget.reserve/],
  ["budget", true, /budget must be an object, got true/],
  ["throttle", { factor: 1 }, /throttle.factor/],
  ["throttle", { window: 10 }, /throttle.window/],
  ["throttle", { mostRefused: 1 }, /throttle.mostRefused/],
  ["breaker", { failureRatio: 0 }, /breaker.failureRatio/],
  ["breaker", { probes: 0 }, /breaker.probes/],
  ["breaker", "on", /breaker must be an object, got "on"/],
  ["pause", 1, /pause must be true or false, got 1/],
  ["scope", "origin", /scope must be a function/],
  ["headers", { deadline: "a b" }, /headers.deadline must be a header's name or false, got "a b"/],
  ["headers", { deadlines: false }, /headers.deadlines/],
  ["maxOrigins", 0, /maxOrigins/],
  ["maxWaiting", -1, /maxWaiting/],
  ["clock", Date, /clock must be a clock/],
  ["random", 4, /random must be a function/],
  ["fetch", "fetch", /fetch must be a function/],
  ["retries", 3, /options.retries must be one of fetch, retry,/],
];

describe("a bad option", () => {
  it.each(wrong)("%s: %j is named, with what was expected and what came", (name, value, message) => {
    let error: unknown;
    try {
      createClient({ [name]: value } as ClientOptions);
    } catch (thrown) {
      error = thrown;
    }
    expect(isSpillwayError(error) && error.code).toBe("ERR_SPILLWAY_INVALID_OPTION");
    expect((error as Error).message).toMatch(message);
  });

  it("of a call rejects it, and nothing is sent", async () => {
    const client = createClient({ fetch: () => Promise.reject(new Error("sent")) });
    await expect(client.request("http://a.test/", {}, { limit: 101 })).rejects.toThrow(/limit must be a whole number/);
    await expect(client.request("http://a.test/", {}, { deadline: "never" as "1s" })).rejects.toThrow(
      /deadline must be/,
    );
    await expect(client.request("http://a.test/", {}, { retry: 1 } as object)).rejects.toThrow(/options.retry must be/);
  });
});

describe("left out, options", () => {
  const settings = resolveClientOptions({});

  it("are safe", () => {
    expect(settings).toMatchObject({
      deadlineMs: 10_000,
      attemptTimeoutMs: Number.POSITIVE_INFINITY,
      budget: { ratio: 0.1, reserve: 10 },
      throttle: { factor: 1.8, windowMs: 30_000, minimumCalls: 20, mostRefused: 0.95 },
      breaker: undefined,
      pause: true,
      pacing: true,
      deadlineHeader: "x-request-deadline-ms",
      attemptHeader: "x-request-attempt",
      maxOrigins: 1000,
      maxWaiting: 1000,
    });
    expect(settings.retry).toMatchObject({
      limit: 3,
      baseMs: 100,
      limitMs: 5000,
      maxRetryAfterMs: 60_000,
      jitter: "full",
    });
    expect([...settings.retry.methods]).not.toContain("POST");
    expect([...settings.retry.statusCodes]).toEqual([408, 429, 500, 502, 503, 504, 529]);
  });

  it("of a breaker that is switched on are those of its table", () => {
    expect(resolveClientOptions({ breaker: true }).breaker).toEqual({
      windowMs: 10_000,
      failureRatio: 0.5,
      minimumCalls: 20,
      openMs: 30_000,
      probes: 3,
      probeTimeoutMs: 30_000,
      silenceMs: 500,
    });
  });

  it("of retrying can be one number, or false", () => {
    expect(resolveClientOptions({ retry: 5 }).retry.limit).toBe(5);
    expect(resolveClientOptions({ retry: false }).retry.limit).toBe(0);
    expect(resolveClientOptions({ retry: { backoffBase: "9s" } }).retry.limitMs).toBe(9000);
  });

  it("take the platform's fetch at the time of the call", async () => {
    const client = createClient();
    const platform = globalThis.fetch;
    globalThis.fetch = async () => new Response("replaced");
    try {
      expect(await (await client.fetch("http://a.test/")).text()).toBe("replaced");
    } finally {
      globalThis.fetch = platform;
    }
  });
});
