import { describe, expect, it } from "vitest";
import { SpillwayError } from "../../errors.ts";
import { resolvePolicy } from "../../policy.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { memoryStore } from "../memory-store.ts";
import type { BucketReading, TakeCall, TakeReply } from "../store.ts";
import {
  encodeAllotment,
  encodePeekReply,
  encodeTakeReply,
  reviveAllotment,
  revivePeekReply,
  reviveTakeReply,
} from "./reply-encoding.ts";

const SECOND = resolvePolicy({ name: "second", limit: 10, period: "1s" }, "policy");
const HOUR = resolvePolicy({ name: "hour", limit: 100, period: "1h", algorithm: "fixed-window" }, "policy");
const COUNTER = resolvePolicy({ name: "c", limit: 6, period: "1h", algorithm: "sliding-window-counter" }, "policy");
const LOG = resolvePolicy({ name: "l", limit: 6, period: "1h", algorithm: "sliding-window-log" }, "policy");
const REPORT = { wish: 2, lifeUs: 100_000, demand: 0.3, weight: 0.7, settlements: [] };
const CALL: TakeCall = {
  buckets: [
    { key: "k", policy: SECOND, report: REPORT },
    { key: "k", policy: HOUR, report: undefined },
    { key: "l", policy: SECOND, report: undefined },
  ],
  runs: [
    {
      count: 3,
      charges: [
        { bucket: 0, cost: 1 },
        { bucket: 1, cost: 2 },
      ],
    },
    { count: 20, charges: [{ bucket: 2, cost: 1 }] },
  ],
};
const sent = (message: unknown): unknown => JSON.parse(JSON.stringify(message));

describe("what the worker reads is what the store said", () => {
  it("states of each algorithm, leases, and how many asks were served", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock });
    clock.advance(1234);
    const reply = await store.take(CALL);
    expect(reply.served).toEqual([3, 10]);
    expect(reply.buckets[0]).toMatchObject({ lease: { tokens: 2 } });
    expect(reviveTakeReply(sent(encodeTakeReply(reply, CALL)), CALL)).toEqual(reply);
    const addresses = CALL.buckets;
    const seen = await store.peek(addresses);
    expect(revivePeekReply(sent(encodePeekReply(seen, addresses)), addresses)).toEqual(seen);
  });

  it("sliding windows, and of a log the tokens that refused costs wait for", async () => {
    const clock = manualClock();
    const store = memoryStore({ clock });
    const buckets = [COUNTER, LOG].map((policy) => ({ key: "k", policy, report: undefined }));
    const charges = [0, 1].map((bucket) => ({ bucket, cost: 1 }));
    for (let i = 0; i < 6; i++) {
      await store.take({ buckets, runs: [{ count: 1, charges }] });
      clock.advance(1000);
    }
    const call: TakeCall = { buckets, runs: [{ count: 2, charges: [{ bucket: 1, cost: 4 }] }] };
    const reply = await store.take(call);
    expect(reply.buckets[1]).toMatchObject({ state: { used: 6, tokens: [1, 2, 1, 1, 1], gathered: [1] } });
    expect(reviveTakeReply(sent(encodeTakeReply(reply, call)), call)).toEqual(reply);
    expect(reviveTakeReply(sent(encodeTakeReply(store.takeNow(call), call)), call)).toEqual(reply);
    const adjusted = await store.adjust(buckets.map((bucket) => ({ ...bucket, tokens: 1 })));
    expect(revivePeekReply(sent(encodePeekReply(adjusted, buckets)), buckets)).toEqual(adjusted);
  });

  it("a bucket that could not be read, with its code", () => {
    const error = new SpillwayError("ERR_SPILLWAY_BUCKET_UNREADABLE", "It is broken.");
    const buckets = CALL.buckets.map((): BucketReading => ({ kind: "fault", error }));
    const reply: TakeReply = { nowUs: 5, buckets, served: [0, 0] };
    expect(reviveTakeReply(sent(encodeTakeReply(reply, CALL)), CALL)).toEqual(reply);
  });
});

describe("what is no reply to the call is refused, and admits nobody", () => {
  const refusal = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_REPLY" });
  const [nowUs, buckets, served] = sent(encodeTakeReply(memoryStore().takeNow(CALL), CALL)) as [
    number,
    unknown[][],
    number[],
  ];

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["true", true],
    ["the reply to another method", [nowUs, buckets]],
    ["a time that is none", [0, buckets, served]],
    ["too few buckets", [nowUs, buckets.slice(1), served]],
    ["too few runs", [nowUs, buckets, [3]]],
    ["more served than asked", [nowUs, buckets, [4, 10]]],
    ["fewer served than none", [nowUs, buckets, [-1, 10]]],
    ["served as text", [nowUs, buckets, ["3", 10]]],
    ["a state of another algorithm", [nowUs, [buckets[1], buckets[1], buckets[2]], served]],
    ["a state with a hole", [nowUs, [[[null, 1, 1, 1]], buckets[1], buckets[2]], served]],
    ["half a lease", [nowUs, [[(buckets[0] as unknown[])[0], [1, 2]], buckets[1], buckets[2]], served]],
    ["a fault without our code", [nowUs, [["EPIPE", "no"], buckets[1], buckets[2]], served]],
  ])("%s", (_title, wire) => {
    expect(() => reviveTakeReply(wire, CALL)).toThrow(refusal);
  });
});

describe("an allotment", () => {
  const ALLOTMENT = { replicas: 4, share: 1e9, even: 250_000_000, due: 0, demand: 1e12 };
  const wire = sent(encodeAllotment(ALLOTMENT)) as unknown[];

  it("is read as it was sent", () => {
    expect(reviveAllotment(wire)).toEqual(ALLOTMENT);
  });

  it("of any other form is refused", () => {
    const refusal = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_REPLY" });
    const bad = [
      undefined,
      true,
      wire.slice(1),
      [...wire, 1],
      ...[-1, 0.5, "1", null].map((value) => wire.with(1, value)),
    ];
    for (const form of [...bad, wire.with(1, 1e9 + 1)])
      expect(() => reviveAllotment(form), JSON.stringify(form)).toThrow(refusal);
  });
});
