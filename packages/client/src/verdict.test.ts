import { describe, expect, it } from "vitest";
import { retrySettings } from "./client-settings.ts";
import { errorCodeOf, healthOf, verdictOfAnswer, verdictOfError } from "./verdict.ts";

const { statusCodes, errorCodes } = retrySettings({});
const answer = (status: number, headers: Record<string, string> = {}, body?: unknown) =>
  verdictOfAnswer(status, new Headers(headers), body, statusCodes);

describe("an answer", () => {
  it.each([408, 429, 500, 502, 503, 504, 529])("of status %d is worth another attempt", (status) => {
    expect(answer(status)).toEqual({ kind: "transient", unsent: false });
  });

  it.each([200, 204, 301, 304, 400, 401, 402, 403, 404, 409, 413, 422, 501, 505])(
    "of status %d is handed on",
    (status) => {
      expect(answer(status)).toEqual({ kind: "done" });
    },
  );

  it.each(["x-should-retry", "stripe-should-retry"])("with %s: false is not tried again", (name) => {
    expect(answer(503, { [name]: "false" })).toEqual({ kind: "hopeless", reason: "told-not-to" });
    expect(answer(503, { [name]: "true" }).kind).toBe("transient");
  });

  it.each([
    { error: { code: "insufficient_quota", type: "insufficient_quota" } },
    { error: { type: "insufficient_quota" } },
    { error: { code: "credit_balance_exhausted" } },
    { error: { code: "organization_spend_limit_exceeded" } },
    { error: { code: "project_spend_limit_exceeded" } },
    { error: { code: "organization_usage_limit_exceeded" } },
    { error: { type: "rate_limit_error", details: { error_code: "enforced_spend_limit_reached" } } },
  ])("that says that a quota or budget is spent is not tried again: %j", (body) => {
    expect(answer(429, {}, body)).toEqual({ kind: "hopeless", reason: "quota-spent" });
  });

  it("that says that the cost can never fit is not tried again (C06 e)", () => {
    const body = { statusCode: 429, code: "SPILLWAY_NEVER", error: "Too Many Requests" };
    expect(answer(429, {}, body)).toEqual({ kind: "hopeless", reason: "told-not-to" });
  });

  it.each([
    { error: { code: "rate_limit_exceeded" } },
    { error: { code: "slow_down" } },
    { code: "SPILLWAY_LIMITED" },
    null,
    [],
    "text",
    7,
  ])("of another limit is tried again: %j", (body) => {
    expect(answer(429, {}, body).kind).toBe("transient");
  });
});

const TARGET = "https://pay.test/charge";

describe("an error", () => {
  it.each([
    ["ECONNREFUSED", true],
    ["ENOTFOUND", true],
    ["UND_ERR_CONNECT_TIMEOUT", true],
    ["ECONNRESET", false],
    ["UND_ERR_SOCKET", false],
    ["ERR_SPILLWAY_CALL_TIMEOUT", false],
  ])("%s is worth another attempt; certainly not seen by anyone: %s", (code, unsent) => {
    expect(verdictOfError({ code }, TARGET, errorCodes)).toEqual({ kind: "transient", unsent });
  });

  it.each(["CERT_HAS_EXPIRED", "ERR_INVALID_URL", undefined])("%s is handed on", (code) => {
    expect(verdictOfError({ code }, TARGET, errorCodes)).toEqual({ kind: "hopeless", reason: "not-transient" });
  });

  it.each([
    [TARGET, { code: "ENOTFOUND", hostname: "pay.test" }, true],
    [TARGET, { code: "ENOTFOUND", hostname: "other.test" }, false],
    [TARGET, { code: "ECONNREFUSED", address: "203.0.113.7", port: 443 }, true],
    [TARGET, { code: "ECONNREFUSED", address: "203.0.113.7", port: 8443 }, false],
    ["http://127.0.0.1:8080/", { code: "ECONNREFUSED", address: "127.0.0.1", port: 8080 }, true],
    ["http://127.0.0.1:8080/", { code: "ECONNREFUSED", address: "127.0.0.2", port: 8080 }, false],
    ["http://127.0.0.1/", { code: "ECONNREFUSED", address: "127.0.0.1", port: 80 }, true],
    ["http://[::1]:8080/", { code: "ECONNREFUSED", address: "::1", port: 8080 }, true],
    ["/relative", { code: "ECONNREFUSED", address: "::1", port: 8080 }, true],
  ])(
    "of connecting, after a call of %s, says %j: not seen by anyone: %s, for it can be about where a redirect led",
    (url, cause, unsent) => {
      const error = new TypeError("fetch failed", { cause });
      expect(verdictOfError(error, url, errorCodes)).toEqual({ kind: "transient", unsent });
      const several = new TypeError("fetch failed", { cause: { code: cause.code, errors: [cause] } });
      expect(verdictOfError(several, url, errorCodes)).toEqual({ kind: "transient", unsent });
    },
  );

  it("has the code of its cause, or of the first of several addresses", () => {
    const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    expect(errorCodeOf(new TypeError("fetch failed", { cause: refused }))).toBe("ECONNREFUSED");
    expect(errorCodeOf(new TypeError("fetch failed", { cause: new AggregateError([refused]) }))).toBe("ECONNREFUSED");
    expect(errorCodeOf(new TypeError("Invalid URL"))).toBeUndefined();
    expect(errorCodeOf("text")).toBeUndefined();
    const round: { cause?: unknown } = {};
    round.cause = round;
    expect(errorCodeOf(round)).toBeUndefined();
  });
});

it.each([
  [200, "working"],
  [404, "working"],
  [501, "working"],
  [429, "limiting"],
  [503, "overloaded"],
  [529, "overloaded"],
  [500, "broken"],
  [504, "broken"],
])("status %d comes from a server that is %s", (status, health) => {
  expect(healthOf(status)).toBe(health);
});
