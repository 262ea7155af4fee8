import { describe, expect, it } from "vitest";
import { rateLimitMiddleware } from "./rate-limit-middleware.ts";
import { admission, scriptedLimiter } from "./test-support.ts";

const limiter = scriptedLimiter(() => admission);

describe("options of the middleware", () => {
  it.each([
    [undefined, "Option options must be an object, got undefined."],
    [{}, "Option limiter must be a limiter with consume and consumeNow, got undefined."],
    [{ limiter: { consume: () => {} } }, "Option limiter must be a limiter with consume and consumeNow, got an object"],
    [{ limiter, max: 5 }, "Option options.max must be one of key, skip,"],
    [{ limiter, key: "ip" }, 'Option key must be a function, got "ip".'],
    [{ limiter, skip: true }, "Option skip must be a function, got true."],
    [{ limiter, partitionKey: "hash" }, 'Option partitionKey must be a function, got "hash".'],
    [{ limiter, onRefused: {} }, "Option onRefused must be a function, got an object of Object."],
    [{ limiter, respond: null }, "Option respond must be a function, got null."],
    [{ limiter, preflights: 1 }, "Option preflights must be a boolean, got 1."],
    [{ limiter, dryRun: "yes" }, 'Option dryRun must be a boolean, got "yes".'],
    [{ limiter, headers: "draft-7" }, 'Option headers must be "draft-8" or false, got "draft-7".'],
    [{ limiter, legacyHeaders: true }, 'Option legacyHeaders must be "delta", "epoch" or false, got true.'],
    [{ limiter, retryAfterJitterMs: -1 }, "Option retryAfterJitterMs must be a number from 0 to 3600000, got -1."],
    [
      { limiter, retryAfterJitterMs: Number.NaN },
      "Option retryAfterJitterMs must be a number from 0 to 3600000, got NaN.",
    ],
    [{ limiter, retryAfterJitterMs: "5" }, 'Option retryAfterJitterMs must be a number from 0 to 3600000, got "5".'],
    [{ limiter, addresses: [] }, "Option addresses must be an object, got an array of 0."],
    [[], "Option options must be an object, got an array of 0."],
    [{ limiter, addresses: 64 }, "Option addresses must be an object, got 64."],
    [{ limiter, addresses: { subnet: 64 } }, "Option addresses.subnet must be one of ipv6Subnet"],
    [{ limiter, addresses: { ipv6Subnet: 0 } }, "Option ipv6Subnet must be a whole number from 1 to 128, got 0."],
    [{ limiter, cost: -1 }, "Option cost must be a whole number from 0, got -1."],
    [{ limiter, cost: "1" }, 'Option cost must be a whole number from 0, got "1".'],
    [{ limiter, cost: { minute: 1.5 } }, "Option cost.minute must be a whole number from 0, got 1.5."],
  ])("%j is refused by name", (options, message) => {
    expect(() => rateLimitMiddleware(options as never)).toThrow(message);
  });

  it("have a code that stays the same", () => {
    const codeOf = (options: unknown) => {
      try {
        rateLimitMiddleware(options as never);
      } catch (error) {
        return (error as { code?: string }).code;
      }
      return undefined;
    };
    const bad = [{}, { limiter, max: 5 }, { limiter, cost: -1 }, { limiter, addresses: { ipv6Subnet: 0 } }];
    expect(bad.map(codeOf)).toEqual(bad.map(() => "ERR_SPILLWAY_INVALID_OPTION"));
  });
});
