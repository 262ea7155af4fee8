import { describe, expect, it } from "vitest";
import { SpillwayError } from "../../errors.ts";
import { resolvePolicy } from "../../policy.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { memoryStore } from "../memory-store.ts";
import type { BucketReading, TakeCall, TakeReply } from "../store.ts";
import { encodePeekReply, encodeTakeReply, revivePeekReply, reviveTakeReply } from "./reply-encoding.ts";

const SECOND = resolvePolicy({ name: "second", limit: 10, period: "1s" }, "policy");
const HOUR = resolvePolicy({ name: "hour", limit: 100, period: "1h", algorithm: "fixed-window" }, "policy");
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
    expect(reviveTakeReply(sent(encodeTakeReply(reply)), CALL)).toEqual(reply);
    const addresses = CALL.buckets;
    const seen = await store.peek(addresses);
    expect(revivePeekReply(sent(encodePeekReply(seen)), addresses)).toEqual(seen);
  });

  it("a bucket that could not be read, with its code", () => {
    const error = new SpillwayError("ERR_SPILLWAY_BUCKET_UNREADABLE", "It is broken.");
    const buckets = CALL.buckets.map((): BucketReading => ({ kind: "fault", error }));
    const reply: TakeReply = { nowUs: 5, buckets, served: [0, 0] };
    expect(reviveTakeReply(sent(encodeTakeReply(reply)), CALL)).toEqual(reply);
  });
});

describe("what is no reply to the call is refused, and admits nobody", () => {
  const refusal = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_REPLY" });
  const [nowUs, buckets, served] = sent(encodeTakeReply(memoryStore().takeNow(CALL))) as [
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
