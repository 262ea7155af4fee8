import { describe, expect, it } from "vitest";
import { shedReplies } from "./shed-reply.ts";

const shed = { admitted: false, reason: "line_full", retryAfterMs: 1, shouldRetry: true } as const;

describe("a 503", () => {
  it("says when to come back in whole seconds, rounded up, at least 1, and exactly", () => {
    const replyOf = shedReplies(false);
    const told = [0, 1, 1000, 1001, 30_000].map((retryAfterMs) => {
      const { headers } = replyOf({ ...shed, retryAfterMs });
      return [headers["retry-after"], headers["retry-after-ms"]];
    });
    expect(told).toEqual([
      ["1", "0"],
      ["1", "1"],
      ["1", "1000"],
      ["2", "1001"],
      ["30", "30000"],
    ]);
  });

  it("has a body that was made before, with its length", () => {
    const replyOf = shedReplies(false);
    const { headers, body } = replyOf(shed);
    expect(JSON.parse(body)).toEqual({ error: "overloaded", reason: "line_full" });
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": String(body.length),
    });
    expect(replyOf(shed).body).toBe(body);
  });

  it("says so when coming back is of no use, and else nothing of it", () => {
    const replyOf = shedReplies(false);
    expect(replyOf({ ...shed, shouldRetry: false }).headers["x-should-retry"]).toBe("false");
    expect(replyOf(shed).headers).not.toHaveProperty("x-should-retry");
  });

  it("may be a problem document", () => {
    const { headers, body } = shedReplies(true)({ ...shed, reason: "waited_too_long" });
    expect(headers["content-type"]).toBe("application/problem+json; charset=utf-8");
    expect(JSON.parse(body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "Temporary reduced capacity",
      status: 503,
      detail: "The service stayed full for as long as a request may wait.",
      reason: "waited_too_long",
      "violated-policies": ["admission"],
    });
  });
});
