import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../policy.ts";
import type { BucketReading, LeaseReport, TakeCall } from "../store.ts";
import { decodeAllotment, decodePeek, decodeTake } from "./reply-decoding.ts";

const BUCKET = resolvePolicy({ name: "bucket", limit: 70, period: "1s", burst: 20 }, "policy");
const WINDOW = resolvePolicy({ name: "window", limit: 9, period: "1m", algorithm: "fixed-window" }, "policy");
const COUNTER = resolvePolicy({ name: "c", limit: 9, period: "1m", algorithm: "sliding-window-counter" }, "policy");
const LOG = resolvePolicy({ name: "l", limit: 9, period: "1m", algorithm: "sliding-window-log" }, "policy");
const REPORT: LeaseReport = { wish: 5, lifeUs: 100_000, demand: 1, weight: 1, settlements: [] };
const NOW_US = 1_790_000_000_123_456;

/** A call for 3 asks of 1 on each bucket. */
function callOf(...reports: (LeaseReport | undefined)[]): TakeCall {
  const buckets = reports.map((report) => ({ key: "key", policy: BUCKET, report }));
  return { buckets, runs: [{ count: 3, charges: buckets.map((_, bucket) => ({ bucket, cost: 1 })) }] };
}

const CALL = callOf(undefined);
const GOOD = [NOW_US, 0, 1_700_000, 3];
/** Everything that can be told of a bucket: the time of its level, both escrows, a lease and its id, a mark of contention. */
const LEASED = [NOW_US, 31 + 32 * 4, 500_000, NOW_US - 5, 2, NOW_US + 9, 7, NOW_US + 99, NOW_US - 3, 3];
/** A bucket with both escrows, as a call without a report is told of it. */
const ESCROWED = [NOW_US, 6, 500_000, 2, NOW_US + 9, 7, NOW_US + 99, 3];
const take = (reply: unknown, call: TakeCall = CALL): ReturnType<typeof decodeTake> =>
  decodeTake(
    reply,
    call,
    call.buckets.map((_, i) => `store:${i}`),
  );
const unknownForm = expect.objectContaining({
  name: "SpillwayError",
  code: "ERR_SPILLWAY_STORE_REPLY",
  message: expect.stringMatching(/^The store's reply has an unknown form: ./),
});

describe("the reply of take", () => {
  it("gives the store's time, how each bucket stands, and how many asks of each run were served", () => {
    expect(take(GOOD)).toEqual({
      nowUs: NOW_US,
      buckets: [
        {
          kind: "state",
          lease: undefined,
          state: {
            kind: "token-bucket",
            level: 1_700_000,
            timeUs: NOW_US,
            unitsPerToken: 100_000,
            fullUs: 285_715,
            older: { tokens: 0, id: 0, deathUs: 0 },
            newer: { tokens: 0, id: 0, deathUs: 0 },
            demand: 0,
          },
        },
      ],
      served: [3],
    });
  });

  it("gives the escrow, and the lease to whom reported", () => {
    const [reported] = take(LEASED, callOf(REPORT)).buckets;
    const older = { tokens: 2, id: 0, deathUs: NOW_US + 9 };
    const newer = { tokens: 7, id: 0, deathUs: NOW_US + 99 };
    expect(reported).toMatchObject({
      state: { level: 500_000, timeUs: NOW_US - 5, older, newer },
      lease: { id: NOW_US - 3, tokens: 4, contended: true },
    });
    const [silent] = take(ESCROWED).buckets;
    expect(silent).toMatchObject({ state: { timeUs: NOW_US, older, newer }, lease: undefined });
  });

  it("leaves out what follows from the rest: times and ids that are the server's time, a lease that is alone in its escrow", () => {
    const none = { tokens: 0, id: 0, deathUs: 0 };
    expect(take([NOW_US, 32 * 4, 500_000, 3], callOf(REPORT)).buckets[0]).toMatchObject({
      state: { timeUs: NOW_US, older: none, newer: { tokens: 4, id: 0, deathUs: NOW_US + REPORT.lifeUs } },
      lease: { id: NOW_US, tokens: 4, contended: false },
    });
    expect(take([NOW_US, 16, 500_000, 3], callOf(REPORT)).buckets[0]).toMatchObject({
      state: { older: none, newer: none },
      lease: { id: 0, tokens: 0, contended: true },
    });
    expect(take([NOW_US, 4, 500_000, 2, NOW_US + 9, 3], callOf(REPORT)).buckets[0]).toMatchObject({
      state: { older: none, newer: { tokens: 2, deathUs: NOW_US + 9 } },
      lease: { id: 0, tokens: 0, contended: false },
    });
  });

  describe("to buckets with a run each", () => {
    const many: TakeCall = {
      buckets: [1, 2, 3].map((n) => ({ key: `key:${n}`, policy: BUCKET, report: undefined })),
      runs: [0, 1, 2].map((bucket) => ({ count: 2, charges: [{ bucket, cost: 1 }] })),
    };
    const levels = (reply: unknown): unknown =>
      take(reply, many).buckets.map((reading) => reading.kind === "state" && reading.state);
    const state = (level: number): unknown =>
      expect.objectContaining({ level, timeUs: NOW_US, unitsPerToken: 100_000 });

    it("may give what all have in common once", () => {
      expect(levels([NOW_US, 2, 7])).toEqual([state(7), state(7), state(7)]);
      expect(levels([NOW_US, 1, 7, 8, -9])).toEqual([state(7), state(8), state(-9)]);
      expect(take([NOW_US, 1, 7], many)).toMatchObject({ nowUs: NOW_US, served: [1, 1, 1] });
      expect(take([NOW_US, 3, 7])).toMatchObject({ nowUs: NOW_US, buckets: [{ state: state(7) }], served: [3] });
    });

    it("gives each state to its own bucket", () => {
      const [first, second] = take([NOW_US, 2, 7], many).buckets;
      expect(first?.kind === "state" && first.state).not.toBe(second?.kind === "state" && second.state);
    });

    it.each<[string, unknown, TakeCall]>([
      ["more served than asked", [NOW_US, 3, 7], many],
      ["fewer served than none", [NOW_US, -1, 7], many],
      ["a level too few", [NOW_US, 2, 7, 7], many],
      ["a level too many", [NOW_US, 2, 7, 7, 7, 7], many],
      ["no level", [NOW_US, 2], many],
      ["no time", [0, 2, 7], many],
      ["more served of one bucket than asked", [NOW_US, 4, 7], CALL],
      ["a bucket that reports", [NOW_US, 2, 7], callOf(REPORT)],
      ["a bucket that is asked for nothing", [NOW_US, 2, 7], { ...CALL, runs: [] }],
      ["buckets that report", [NOW_US, 2, 7], { ...callOf(REPORT, REPORT), runs: many.runs.slice(0, 2) }],
      ["windows", [NOW_US, 2, 7], { ...many, buckets: many.buckets.map((bucket) => ({ ...bucket, policy: WINDOW })) }],
      ["fewer runs than buckets", [NOW_US, 2, 7], { ...many, runs: many.runs.slice(0, 2) }],
    ])("is a fault with %s", (_, reply, call) => {
      expect(() => take(reply, call)).toThrow(unknownForm);
    });
  });

  it("gives a window's count and start, what is on lease of it, and what was just leased", () => {
    const callFor = (report: LeaseReport | undefined, policy = WINDOW): TakeCall => ({
      buckets: [{ key: "key", policy, report }],
      runs: [],
    });
    const state = { kind: "fixed-window", used: 7, startUs: NOW_US - 5 };
    const lease = { id: NOW_US, tokens: 4, contended: false };
    const of = (reply: readonly number[], report?: LeaseReport): unknown =>
      take([NOW_US, ...reply], callFor(report)).buckets[0];
    const nothing = { id: 0, tokens: 0, contended: false };
    expect(of([0, 7, NOW_US - 5])).toEqual({ kind: "state", state, lease: undefined });
    expect(of([0, 7, NOW_US - 5], REPORT)).toEqual({ kind: "state", state, lease: nothing });
    expect(of([4, 7, NOW_US - 5, 3])).toMatchObject({ state: { ...state, lease: { tokens: 3 } }, lease: undefined });
    expect(of([128, 7, NOW_US - 5], REPORT)).toMatchObject({ state: { ...state, lease: { tokens: 4 } }, lease });
    expect(of([140, 7, NOW_US - 5, 6, NOW_US - 3], REPORT)).toMatchObject({
      state: { ...state, lease: { tokens: 6 } },
      lease: { ...lease, id: NOW_US - 3 },
    });
    expect(take([NOW_US, 132, 7, NOW_US - 5, 3, 6], callFor(REPORT, COUNTER)).buckets[0]).toMatchObject({
      state: { current: 7, previous: 3, lease: { tokens: 6 } },
      lease,
    });
  });

  it.each<[string, LeaseReport | undefined, readonly number[]]>([
    ["more leased than was wished for", REPORT, [192, 7, NOW_US - 5]],
    ["a lease that nobody asked for", undefined, [32, 7, NOW_US - 5]],
    ["more on lease than is used", REPORT, [4, 7, NOW_US - 5, 8]],
    ["less on lease than was just leased", REPORT, [132, 7, NOW_US - 5, 3]],
    ["the id of a lease that it does not grant", REPORT, [8, 7, NOW_US - 5, NOW_US]],
    ["a mark of contention", REPORT, [16, 7, NOW_US - 5]],
  ])("is a fault for a window with %s", (_, report, block) => {
    const call = { buckets: [{ key: "key", policy: WINDOW, report }], runs: [] };
    expect(() => take([NOW_US, ...block], call)).toThrow(unknownForm);
  });

  it("gives both counts of a sliding window, and the entries of a log with those that are gathered", () => {
    const call = { buckets: [COUNTER, LOG].map((policy) => ({ key: "key", policy, report: undefined })), runs: [] };
    const [counter, log] = take(
      [NOW_US, 0, 7, NOW_US - 5, 3, 0, 6, 3, NOW_US - 9, 1, NOW_US - 4, -3, NOW_US, 2],
      call,
    ).buckets;
    expect(counter).toMatchObject({ state: { startUs: NOW_US - 5, current: 7, previous: 3, nowUs: NOW_US } });
    expect(log).toMatchObject({
      state: { times: [NOW_US - 9, NOW_US - 4, NOW_US], tokens: [1, 3, 2], gathered: [1], used: 6, nowUs: NOW_US },
    });
    expect(take([NOW_US, 0, 0, NOW_US, 0, 0, 0, 0], call).buckets[1]).toMatchObject({ state: { used: 0, times: [] } });
  });

  it.each<[string, typeof LOG, readonly number[]]>([
    ["a counter without its second count", COUNTER, [0, 7, NOW_US]],
    ["a negative second count", COUNTER, [0, 7, NOW_US, -1]],
    ["a window that begins later than now", COUNTER, [0, 7, NOW_US + 1, 0]],
    ["fewer entries than it says", LOG, [0, 3, 2, NOW_US - 1, 1]],
    ["more entries than it says", LOG, [0, 1, 1, NOW_US - 1, 1, NOW_US, 1]],
    ["more entries than tokens", LOG, [0, 1, 2, NOW_US - 1, 1, NOW_US, 0]],
    ["other tokens than it says", LOG, [0, 3, 2, NOW_US - 1, 1, NOW_US, 1]],
    ["an entry without tokens", LOG, [0, 2, 2, NOW_US - 1, 2, NOW_US, 0]],
    ["entries that are not in order", LOG, [0, 2, 2, NOW_US, 1, NOW_US - 1, 1]],
    ["two entries of one instant", LOG, [0, 2, 2, NOW_US, 1, NOW_US, 1]],
    ["an entry of the future", LOG, [0, 1, 1, NOW_US + 1, 1]],
    ["a negative number of entries", LOG, [0, 0, -1]],
    ["a flag of token buckets", LOG, [1, 1, 1, NOW_US, 1]],
  ])("is a fault for a sliding window with %s", (_, policy, block) => {
    const call = { buckets: [{ key: "key", policy, report: undefined }], runs: [] };
    expect(() => take([NOW_US, ...block], call)).toThrow(unknownForm);
  });

  it("takes a debt, and integers as digits or big integers as clients may give them", () => {
    expect(take([NOW_US, 0, -1_700_000, 0]).buckets[0]).toMatchObject({ state: { level: -1_700_000 } });
    expect(take(GOOD.map(String))).toEqual(take(GOOD));
    expect(take(GOOD.map(BigInt))).toEqual(take(GOOD));
  });

  it.each([
    [1, "holds a value of another type"],
    [2, "holds a value that no script of this version wrote"],
  ])(
    "says of a bucket that cannot be read (%d) which key it is and how to heal it, and lets the others be",
    (code, what) => {
      const reply = take([NOW_US, -1, code, 0, 1_700_000, 0], callOf(undefined, undefined));
      const [faulty, readable] = reply.buckets as [BucketReading, BucketReading];
      expect(readable.kind).toBe("state");
      expect(faulty).toMatchObject({
        kind: "fault",
        error: {
          code: "ERR_SPILLWAY_BUCKET_UNREADABLE",
          message: `The Redis key "store:0" ${what}; reset() of the limiter, or DEL, makes it usable again.`,
        },
      });
    },
  );

  it.each<[string, unknown]>([
    ["nothing", null],
    ["undefined", undefined],
    ["text", "OK"],
    ["a number", 1],
    ["an object like an array", { ...GOOD, length: 4 }],
    ["bytes", Buffer.from("1")],
    ["an error", new Error("ERR")],
    ["an empty array", []],
    ["two slots too few", GOOD.slice(0, -2)],
    ["a slot too many", [...GOOD, 0]],
    ["a slot that is null", GOOD.with(3, null as never)],
    ["a slot that is true", GOOD.with(3, true as never)],
    ["a slot that is text", GOOD.with(3, "three" as never)],
    ["a slot that is empty text", GOOD.with(3, "" as never)],
    ["a slot with a fraction", GOOD.with(3, 2.5)],
    ["a slot with a fraction in text", GOOD.with(3, "2.5" as never)],
    ["a slot with an exponent", GOOD.with(2, "1.7e+15" as never)],
    ["a slot that is no number", GOOD.with(2, Number.NaN)],
    ["a slot beyond 2^53", GOOD.with(2, 2 ** 53)],
    ["a slot beyond 2^53 in text", GOOD.with(2, "9007199254740992" as never)],
    ["an array in a slot", GOOD.with(3, [3] as never)],
    ["a time of 0", GOOD.with(0, 0)],
    ["a negative time", GOOD.with(0, -NOW_US)],
    ["a flag of calls that report", GOOD.with(1, 8)],
    ["a negative flag", GOOD.with(1, -2)],
    ["flag -1 without a reason", [NOW_US, -1, 0, 0]],
    ["a flag without what it stands for", GOOD.with(1, 1)],
    ["an escrow without its death", ESCROWED.toSpliced(3, 1)],
    ["an empty escrow", ESCROWED.with(3, 0)],
    ["more asks served than were sent", GOOD.with(3, 4)],
    ["fewer than none served", GOOD.with(3, -1)],
  ])("is a fault and never an admission when it is or has %s", (_, reply) => {
    expect(() => take(reply)).toThrow(unknownForm);
  });

  it.each<[string, unknown, LeaseReport | undefined]>([
    ["more tokens than were wished for", LEASED.with(1, 31 + 32 * 6), REPORT],
    ["tokens without a lease", LEASED.with(8, 0), REPORT],
    ["the id of a lease that is not there", LEASED.with(1, 31), REPORT],
    ["a negative escrow", LEASED.with(4, -1), REPORT],
    ["a lease that nobody wished for", LEASED, undefined],
    ["a lease for a report without a wish", [NOW_US, 32, 500_000, 3], { ...REPORT, wish: 0 }],
    ["a mark of contention without a report", [NOW_US, 16, 500_000, 3], undefined],
  ])("is a fault and never a lease when it has %s", (_, reply, report) => {
    expect(() => take(reply, callOf(report))).toThrow(unknownForm);
  });

  it("is a fault for a window with a flag of token buckets or a negative count", () => {
    const call = { buckets: [{ key: "key", policy: WINDOW, report: undefined }], runs: [] };
    expect(() => take([NOW_US, 1, 7, NOW_US], call)).toThrow(unknownForm);
    expect(() => take([NOW_US, 0, -1, NOW_US], call)).toThrow(unknownForm);
  });

  it("is read whole or not at all, whatever comes, and never serves more than was asked", () => {
    const anySlot = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: -1, max: 12 }) },
      { weight: 2, arbitrary: fc.constant(NOW_US) },
      { weight: 1, arbitrary: fc.anything() },
    );
    fc.assert(
      fc.property(fc.oneof(fc.array(anySlot, { minLength: 3, maxLength: 13 }), fc.anything()), (reply) => {
        let served: readonly number[] = [];
        try {
          served = take(reply, callOf(REPORT)).served;
        } catch (error) {
          expect(error).toEqual(unknownForm);
        }
        expect(served.every((number) => number >= 0 && number <= 3)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe("the reply of a script that only tells", () => {
  const addresses = [
    { key: "key", policy: WINDOW },
    { key: "key", policy: BUCKET },
  ];

  it("gives the store's time and how each bucket stands", () => {
    expect(decodePeek([NOW_US, 0, 7, NOW_US - 5, 0, 1], addresses, ["a", "b"])).toMatchObject({
      nowUs: NOW_US,
      buckets: [{ state: { used: 7, startUs: NOW_US - 5 } }, { state: { level: 1, timeUs: NOW_US } }],
    });
  });

  it("is a fault with a slot too few, too many, or for other buckets", () => {
    for (const reply of [
      [NOW_US, 0, 7, NOW_US - 5, 0],
      [NOW_US, 0, 7, NOW_US - 5, 0, 1, 0],
      [NOW_US, 0, 7, NOW_US - 5],
      null,
    ])
      expect(() => decodePeek(reply, addresses, ["a", "b"])).toThrow(unknownForm);
  });
});

describe("the reply of the script that allots shares", () => {
  const REPLY = [NOW_US, 4, 250_000_000, 240_000_000, 300_000_000, 1e12];

  it("gives how many processes there are, and the shares", () => {
    const allotment = { replicas: 4, share: 250_000_000, even: 240_000_000, due: 300_000_000, demand: 1e12 };
    expect(decodeAllotment(REPLY)).toEqual(allotment);
    expect(decodeAllotment(REPLY.map(String))).toEqual(allotment);
  });

  it("is a fault with a slot too few, too many, or with more than the whole", () => {
    const bad = [
      undefined,
      [],
      REPLY.slice(0, -1),
      [...REPLY, 1],
      ...REPLY.map((_, i) => REPLY.with(i, -1)),
      ...[2, 3, 4].map((i) => REPLY.with(i, 1_000_000_001)),
    ];
    for (const reply of bad) expect(() => decodeAllotment(reply), JSON.stringify(reply)).toThrow(unknownForm);
  });
});
