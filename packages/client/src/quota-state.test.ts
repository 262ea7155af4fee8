import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readQuotas } from "./quota-state.ts";

const read = (headers: Record<string, string>) => readQuotas(new Headers(headers), Date.UTC(2026, 0, 1));
const bare = { limit: undefined, windowMs: undefined };

describe("the limits that an answer tells", () => {
  it("are those of the Internet-Draft, each with its quota and window", () => {
    const policy = '"burst";q=70;w=2,"other";q=1';
    expect(read({ ratelimit: '"burst";r=11;t=1, "daily";r=0;t=41', "ratelimit-policy": policy })).toEqual([
      { policy: "burst", remaining: 11, resetMs: 1000, limit: 70, windowMs: 2000 },
      { policy: "daily", remaining: 0, resetMs: 41_000, ...bare },
    ]);
  });

  it("are those of its older forms", () => {
    const expected = [{ policy: "", remaining: 50, resetMs: 5000, ...bare }];
    expect(read({ ratelimit: "limit=100, remaining=50, reset=5" })).toEqual(expected);
    expect(read({ "ratelimit-remaining": "50", "ratelimit-reset": "5" })).toEqual(expected);
  });

  it("are not those of policies that count something else, of older fields, or of an answer out of a cache", () => {
    const fields = { ratelimit: '"slots";r=0;t=9', "ratelimit-policy": '"slots";q=4;w=1;qu="concurrent-requests"' };
    expect(read(fields)).toEqual([]);
    expect(read({ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" })).toEqual([]);
    expect(read({ "ratelimit-remaining": "1", "anthropic-ratelimit-tokens-remaining": "0" })).toHaveLength(1);
    expect(read({ ratelimit: '"a";r=0;t=9', age: "3" })).toEqual([]);
  });

  it("never throw, and are whole numbers of at least 0", () => {
    const text = fc.stringMatching(/^[ -~]{0,60}$/);
    const shaped = fc.stringMatching(/^("[a-z]{0,3}";[rtaw]=[0-9.-]{0,18},?){0,3}$/);
    fc.assert(
      fc.property(fc.oneof(text, shaped), fc.oneof(text, shaped), (ratelimit, policy) => {
        for (const one of read({ ratelimit, "ratelimit-policy": policy })) {
          const numbers = [one.remaining, one.resetMs, one.limit, one.windowMs].filter((value) => value !== undefined);
          for (const number of numbers) expect(Number.isFinite(number) && number >= 0).toBe(true);
        }
      }),
    );
  });
});
