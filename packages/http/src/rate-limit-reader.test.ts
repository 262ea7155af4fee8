import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type QuotaStatus, writeRateLimit, writeRateLimitPolicy } from "./rate-limit-fields.ts";
import { readRateLimits } from "./rate-limit-reader.ts";

const now = Date.UTC(2026, 10, 29, 12, 0, 0, 250);
const epochSeconds = Math.floor(now / 1000);

const read = (headers: Record<string, string>) => readRateLimits(headers, now);

describe("RateLimit fields, revisions 08 to 11", () => {
  it("puts each policy and what is left of it together", () => {
    const headers = {
      "RateLimit-Policy": '"burst";q=70;w=1, "daily";q=100000;w=86400;pk=:aGFzaA==:',
      RateLimit: '"burst"; r=11; t=1, "daily";r=99990;t=41;pk=:aGFzaA==:',
    };
    expect(read(headers)).toEqual([
      { from: "ratelimit", policy: "burst", limit: 70, periodMs: 1000, remaining: 11, resetAfterMs: 1000 },
      {
        from: "ratelimit",
        policy: "daily",
        limit: 100_000,
        periodMs: 86_400_000,
        partitionKey: "aGFzaA==",
        remaining: 99_990,
        resetAfterMs: 41_000,
      },
    ]);
  });

  it("takes names as tokens, tells units, and leaves out what is not said", () => {
    const headers = {
      "ratelimit-policy": 'inflight;q=48;qu="concurrent-requests",quiet;q=5',
      ratelimit: "quota;t=1, inflight;r=0",
    };
    expect(read(headers)).toEqual([
      { from: "ratelimit", policy: "quota", resetAfterMs: 1000 },
      { from: "ratelimit", policy: "inflight", limit: 48, unit: "concurrent-requests", remaining: 0 },
      { from: "ratelimit", policy: "quiet", limit: 5 },
    ]);
  });

  it("tells partitions of one policy apart, and lets a policy without one stand for all", () => {
    const headers = {
      "ratelimit-policy": '"a";q=5;pk=:aaaa:,"a";q=9;pk=:bbbb:,"b";q=7',
      ratelimit: '"a";r=1;pk=:bbbb:,"b";r=2;pk=:cccc:',
    };
    expect(read(headers)).toEqual([
      { from: "ratelimit", policy: "a", limit: 9, partitionKey: "bbbb", remaining: 1 },
      { from: "ratelimit", policy: "b", limit: 7, partitionKey: "cccc", remaining: 2 },
      { from: "ratelimit", policy: "a", limit: 5, partitionKey: "aaaa" },
    ]);
  });

  it("reads the names that are proposed for later: a, w, and c for the cost", () => {
    expect(read({ ratelimit: '"burst";a=3;w=9;c=2' })).toEqual([
      { from: "ratelimit", policy: "burst", remaining: 3, resetAfterMs: 9000, cost: 2 },
    ]);
  });

  it("joins several lines of one field", () => {
    const headers = { ratelimit: ['"a";r=1', '"b";r=2'] };
    expect(readRateLimits(headers, now).map(({ policy }) => policy)).toEqual(["a", "b"]);
  });

  it.each([
    ['"burst";r=11;t=1,', []],
    ['"burst;r=11', []],
    ['("burst");r=11', []],
    ['"burst";r=-1;t=-5', []],
    ['"burst";r="11";t=?1', []],
    ['"burst"', []],
    ['"burst";r=2;t=soon', [{ from: "ratelimit", policy: "burst", remaining: 2 }]],
    ['"burst";r=2.9;t=1.001', [{ from: "ratelimit", policy: "burst", remaining: 2, resetAfterMs: 1001 }]],
  ])("of %j keeps what is well-formed", (ratelimit, readings) => {
    expect(read({ ratelimit })).toEqual(readings);
  });

  it("gives back what the writer wrote, whatever the numbers", () => {
    const number = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(1e15, 1e21, -0, Number.MAX_VALUE));
    const status: fc.Arbitrary<QuotaStatus> = fc.record({
      policy: fc.string({ unit: "grapheme-ascii" }),
      limit: fc.nat(),
      periodMs: fc.nat(1e9).map((seconds) => (seconds + 1) * 1000),
      remaining: fc.nat(),
      refillAfterMs: number,
      retryAfterMs: fc.constant(0),
    });
    const statuses = fc.uniqueArray(status, { selector: ({ policy }) => policy, minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(statuses, (told) => {
        const readings = read({ "ratelimit-policy": writeRateLimitPolicy(told), ratelimit: writeRateLimit(told) });
        expect(
          readings.map(({ policy, limit, periodMs, remaining }) => ({ policy, limit, periodMs, remaining })),
        ).toEqual(told.map(({ policy, limit, periodMs, remaining }) => ({ policy, limit, periodMs, remaining })));
        for (const { resetAfterMs } of readings) if (resetAfterMs !== undefined) expectWait(resetAfterMs);
      }),
    );
  });
});

describe("the earlier revisions", () => {
  it("00 to 03: quota policies behind the limit, which names the one in force", () => {
    const headers = { "ratelimit-limit": '10, 10;w=1;burst=50, 50;w=60;comment="sliding"', "ratelimit-remaining": "4" };
    expect(read({ ...headers, "ratelimit-reset": "7" })).toEqual([
      { from: "ratelimit-reset", limit: 10, periodMs: 1000, remaining: 4, resetAfterMs: 7000 },
      { from: "ratelimit-reset", limit: 50, periodMs: 60_000 },
    ]);
    expect(read({ "ratelimit-limit": "10, 10;window=2" })).toEqual([
      { from: "ratelimit-reset", limit: 10, periodMs: 2000 },
    ]);
  });

  it("04 to 06: quota policies in a field of their own", () => {
    const headers = { "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": "50" };
    expect(read({ ...headers, "ratelimit-policy": "100;w=60, 5000;w=86400" })).toEqual([
      { from: "ratelimit-reset", limit: 100, periodMs: 60_000, remaining: 0, resetAfterMs: 50_000 },
      { from: "ratelimit-reset", limit: 5000, periodMs: 86_400_000 },
    ]);
    expect(read(headers)).toEqual([{ from: "ratelimit-reset", limit: 100, remaining: 0, resetAfterMs: 50_000 }]);
  });

  it("07: one dictionary", () => {
    const headers = { ratelimit: "limit=100, remaining=50, reset=5", "ratelimit-policy": "100;w=60" };
    expect(read(headers)).toEqual([
      { from: "ratelimit", limit: 100, periodMs: 60_000, remaining: 50, resetAfterMs: 5000 },
    ]);
    expect(read({ ratelimit: "limit=10, reset=1" })).toEqual([{ from: "ratelimit", limit: 10, resetAfterMs: 1000 }]);
  });

  it("does not guess which policy is in force when several have the limit, or none has", () => {
    const twice = { "ratelimit-limit": "10", "ratelimit-policy": "10;w=1, 10;w=60", "ratelimit-remaining": "3" };
    expect(read(twice)[0]).toEqual({ from: "ratelimit-reset", limit: 10, remaining: 3 });
    const dynamic = { "ratelimit-limit": "10, 100;w=60", "ratelimit-remaining": "9" };
    expect(read(dynamic)).toEqual([
      { from: "ratelimit-reset", limit: 10, remaining: 9 },
      { from: "ratelimit-reset", limit: 100, periodMs: 60_000 },
    ]);
  });

  it("a window beside each number, as Docker Hub has it", () => {
    expect(read({ "ratelimit-limit": "100;w=21600", "ratelimit-remaining": "76;w=21600" })).toEqual([
      { from: "ratelimit-reset", limit: 100, periodMs: 21_600_000, remaining: 76 },
    ]);
  });

  it("a reset as an epoch, as GitLab has it", () => {
    const headers = { "ratelimit-limit": "60", "ratelimit-reset": String(epochSeconds + 20) };
    expect(read(headers)[0]?.resetAfterMs).toBe(19_750);
  });

  it("are left aside where a later one is there too", () => {
    const headers = { ratelimit: '"a";r=1;t=2', "ratelimit-limit": "9", "ratelimit-remaining": "9" };
    expect(read(headers)).toEqual([{ from: "ratelimit", policy: "a", remaining: 1, resetAfterMs: 2000 }]);
  });
});

describe("fields with names of their own", () => {
  it("X-RateLimit with an epoch and a resource, as GitHub sends it, by the server's own clock", () => {
    const headers = {
      date: "Sun, 29 Nov 2026 11:00:00 GMT",
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "4987",
      "x-ratelimit-used": "13",
      "x-ratelimit-reset": String(Date.UTC(2026, 10, 29, 11, 30) / 1000),
      "x-ratelimit-resource": "core",
    };
    expect(read(headers)).toEqual([
      { from: "x-ratelimit", policy: "core", limit: 5000, remaining: 4987, resetAfterMs: 1_800_000 },
    ]);
  });

  it.each([
    ["seconds from now", "44", 44_000],
    ["an epoch in ms", String(now + 1500), 1500],
    ["a date of ISO 8601 without seconds, as Atlassian sends it", "2026-11-29T12:01Z", 59_750],
    ["an instant that has passed", String(epochSeconds - 100), 0],
  ])("X-RateLimit-Reset as %s", (_form, reset, resetAfterMs) => {
    expect(read({ "X-RateLimit-Reset": reset })).toEqual([{ from: "x-ratelimit", resetAfterMs }]);
  });

  it("X-Rate-Limit with a second hyphen, as X sends it", () => {
    const headers = { "x-rate-limit-limit": "900", "x-rate-limit-remaining": "899" };
    expect(read({ ...headers, "x-rate-limit-reset": String(epochSeconds + 900) })).toEqual([
      { from: "x-rate-limit", limit: 900, remaining: 899, resetAfterMs: 899_750 },
    ]);
  });

  it("requests and tokens with durations, as OpenAI sends them", () => {
    const headers = {
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-limit-tokens": "150000",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-remaining-tokens": "149984",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-reset-tokens": "6m0s",
      "x-ratelimit-remaining-project-tokens": "12",
    };
    expect(read(headers)).toEqual([
      { from: "x-ratelimit", policy: "requests", limit: 60, remaining: 59, resetAfterMs: 1000 },
      { from: "x-ratelimit", policy: "tokens", limit: 150_000, remaining: 149_984, resetAfterMs: 360_000 },
      { from: "x-ratelimit", policy: "project-tokens", remaining: 12 },
    ]);
  });

  it("RFC 3339 resets and epochs, as Anthropic sends them", () => {
    const headers = {
      "anthropic-ratelimit-requests-limit": "50",
      "anthropic-ratelimit-requests-remaining": "49",
      "anthropic-ratelimit-requests-reset": "2026-11-29T12:00:01Z",
      "anthropic-ratelimit-input-tokens-remaining": "30000",
      "anthropic-ratelimit-unified-5h-reset": String(epochSeconds + 10),
      "anthropic-priority-input-tokens-limit": "10000",
      "anthropic-organization-id": "8",
    };
    expect(read(headers)).toEqual([
      { from: "anthropic", policy: "requests", limit: 50, remaining: 49, resetAfterMs: 750 },
      { from: "anthropic", policy: "input-tokens", remaining: 30_000 },
      { from: "anthropic", policy: "unified-5h", resetAfterMs: 9750 },
      { from: "anthropic", policy: "priority-input-tokens", limit: 10_000 },
    ]);
  });

  it("a wait beside the epoch, as Discord sends it, and decimals, as Reddit does", () => {
    const headers = { "x-ratelimit-reset": String(epochSeconds + 99), "x-ratelimit-reset-after": "1.25" };
    expect(read({ ...headers, "x-ratelimit-remaining": "597.0" })).toEqual([
      { from: "x-ratelimit", remaining: 597, resetAfterMs: 1250 },
    ]);
  });

  it("a wait under the name of Retry-After, where no reset is told", () => {
    const headers = { "x-ratelimit-retry-after": "12", "x-ratelimit-remaining": "0" };
    expect(read(headers)).toEqual([{ from: "x-ratelimit", remaining: 0, resetAfterMs: 12_000 }]);
    expect(read({ ...headers, "x-ratelimit-reset": "20" })[0]?.resetAfterMs).toBe(20_000);
  });

  it("the draft's policies behind an X- limit, as Envoy sends them", () => {
    const headers = { "x-ratelimit-limit": '10, 10;w=1;name="per-ip", 1000;w=3600', "x-ratelimit-remaining": "9" };
    expect(read(headers)).toEqual([
      { from: "x-ratelimit", policy: "per-ip", limit: 10, periodMs: 1000, remaining: 9 },
      { from: "x-ratelimit", limit: 1000, periodMs: 3_600_000 },
    ]);
  });

  it("without a quota's name are left aside where the draft's fields tell what is left; with one they are not", () => {
    const headers = { ratelimit: '"a";r=1', "x-ratelimit-remaining": "1", "x-ratelimit-remaining-tokens": "5" };
    expect(read(headers).map(({ from, policy }) => [from, policy])).toEqual([
      ["ratelimit", "a"],
      ["x-ratelimit", "tokens"],
    ]);
    expect(read({ "ratelimit-policy": '"a";q=1', "x-ratelimit-remaining": "1" })).toHaveLength(2);
  });

  it.each(["-1", "soon", "5, 10", "", "Infinity", "NaN", "1e3", "0x10", "1,000 left"])(
    "count %j as not said",
    (value) => {
      expect(
        read({ "x-ratelimit-remaining": value, "x-ratelimit-reset": value, "x-ratelimit-limit-a": value }),
      ).toEqual([]);
    },
  );
});

describe("whatever comes", () => {
  it("reads headers of fetch, of node:http, of a Map, and repeated lines alike", () => {
    const readings = [{ from: "x-ratelimit", remaining: 7 }];
    expect(readRateLimits(new Headers({ "X-RateLimit-Remaining": "7" }), now)).toEqual(readings);
    expect(readRateLimits({ "x-ratelimit-remaining": "7", cookie: undefined }, now)).toEqual(readings);
    expect(readRateLimits(new Map([["X-RateLimit-Remaining", " 7\t"]]), now)).toEqual(readings);
    expect(readRateLimits({ "x-ratelimit-remaining": 7 }, now)).toEqual(readings);
    expect(readRateLimits({ "x-ratelimit-remaining": ["7", "8"] }, now)).toEqual([]);
  });

  it("reads nothing from a response that a cache has kept", () => {
    const headers = { ratelimit: '"a";r=1', "x-ratelimit-remaining": "1" };
    expect(read({ ...headers, age: "3" })).toEqual([]);
    expect(read({ ...headers, age: "0" })).toHaveLength(1);
    expect(readRateLimits({ ...headers, age: ["3", "0"] }, now)).toEqual([]);
    expect(read({ ...headers, age: "0, 3" })).toHaveLength(1);
    expect(read({ ...headers, age: "3 days" })).toHaveLength(1);
  });

  it("gives nothing for what is no set of headers", () => {
    for (const nothing of [undefined, null, 7, "x", {}, [], [1], ["ab"], [[]], [[1, "2"]]])
      expect(readRateLimits(nothing as never, now)).toEqual([]);
    const unreadable = { toString: () => undefined };
    for (const value of [Symbol("x"), 1n, unreadable, [Symbol("x")], [unreadable, null]])
      expect(readRateLimits({ ratelimit: value, "x-ratelimit-remaining": "7" } as never, now)).toHaveLength(1);
    expect(readRateLimits({ ratelimit: [null, '"a";r=1'] } as never, now)).toHaveLength(1);
  });

  const names = fc.constantFrom(
    ...["ratelimit", "ratelimit-policy", "x-ratelimit-resource", "x-ratelimit-reset-after", "date", "age"],
    ...["ratelimit", "x-ratelimit", "x-rate-limit"].flatMap((prefix) =>
      ["limit", "remaining", "reset"].map((figure) => `${prefix}-${figure}`),
    ),
    ...["x-ratelimit-limit-tokens", "x-ratelimit-reset-tokens", "anthropic-ratelimit-tokens-remaining"],
    ...["anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-", "anthropic--limit", "__proto__", "constructor"],
  );
  const whole = fc.constantFrom(
    ...['"a";r=11;t=1,"b";r=0;t=4', '"a";q=70;w=1,"b";q=9;w=60;pk=:aaaa:', "limit=100, remaining=50, reset=5"],
    ...[
      "100;w=60",
      "10, 10;w=1, 50;w=60",
      "5",
      "0",
      "1s",
      "6m0s",
      "2026-11-29T12:00:05Z",
      "1800000000",
      "1800000000000",
    ],
    ...["Sun, 29 Nov 2026 12:00:00 GMT", "NaN", "Infinity", "-1", "1e9", "9".repeat(20)],
  );
  const sign = fc.oneof(
    fc.constantFrom(...'0123456789-.,;="\\ \t:?@%()*eE+', "\u00e9", "\0"),
    fc.string({ maxLength: 1 }),
  );
  /** A value in which a few signs were overwritten or pushed in. */
  const spoiled = fc
    .tuple(whole, fc.array(fc.tuple(fc.nat(30), sign, fc.nat(2)), { minLength: 1, maxLength: 3 }))
    .map(([value, changes]) =>
      changes.reduce((text, [at, one, instead]) => text.slice(0, at) + one + text.slice(at + instead), value),
    );
  const values = fc.oneof(whole, spoiled, anyText({ maxLength: 20 }));

  it("survives 10,000 fuzzed values without a throw, NaN or a negative wait", () => {
    const responses = fc.array(fc.tuple(names, values), { minLength: 4, maxLength: 8 });
    let valuesRead = 0;
    let readings = 0;
    fc.assert(
      fc.property(responses, fc.constantFrom(now, Number.NaN, 0), (headers, nowMs) => {
        valuesRead += headers.length;
        for (const reading of readRateLimits(headers, nowMs)) {
          readings++;
          const wrong = Object.values(reading).filter((value) => typeof value !== "string" && !isAmount(value));
          if (wrong.length > 0) throw new Error(JSON.stringify(reading));
        }
      }),
      { numRuns: 2500 },
    );
    expect(valuesRead).toBeGreaterThanOrEqual(10_000);
    // The values are near enough to real ones that many are read.
    expect(readings).toBeGreaterThan(1000);
  }, 60_000);

  it("survives values that are longer than any server's", () => {
    const long = ['"a";r=1,', "1", "1h", '"', "a=1,", ":aaa", "%"].map((part) => part.repeat(200_000));
    const fields = ["ratelimit", "ratelimit-policy", "x-ratelimit-reset", "x-ratelimit-limit", "date", "age"];
    for (const value of long) for (const name of fields) expect(read({ [name]: value })).toEqual([]);
  });
});

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}

function expectWait(ms: number): void {
  expect(isAmount(ms)).toBe(true);
  expect(Number.isInteger(ms)).toBe(true);
}

/** Any UTF-16 code units, halves of pairs too. */
function anyText(constraints: fc.ArrayConstraints): fc.Arbitrary<string> {
  return fc.array(fc.nat(0xffff), constraints).map((units) => String.fromCharCode(...units));
}
