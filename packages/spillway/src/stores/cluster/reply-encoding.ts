import { algorithmOf, type BucketShape, type BucketState } from "../../algorithms/bucket.ts";
import { logOfEntries, wireEntries } from "../../algorithms/sliding-window-log.ts";
import type { LeasableWindow } from "../../algorithms/window-lease.ts";
import { SpillwayError, type SpillwayErrorCode, show } from "../../errors.ts";
import { refusedCosts } from "../refused-costs.ts";
import { WHOLE } from "../share-ledger.ts";
import type { Allotment, BucketAddress, BucketReading, LeaseGrant, PeekReply, TakeCall, TakeReply } from "../store.ts";
import { readList, readNumber, readText, readWhole, strange } from "./wire-reading.ts";

/**
 * A bucket's state as numbers, then its lease if it has one (an empty one where only a block follows), then the end of its
 * block if it is blocked; or the code and the message of its fault.
 */
export type WireReading =
  | readonly [state: readonly number[], lease?: readonly number[], blockedUntilUs?: number]
  | readonly [code: string, message: string];
/** A reply of `peek`, `adjust` and `block`. */
export type WirePeekReply = readonly [nowUs: number, buckets: readonly WireReading[]];
/** A reply of `take`. */
export type WireTakeReply = readonly [...WirePeekReply, served: readonly number[]];

/** Must be called before anything else uses the store: the states of a reply may be the live ones. */
export function encodeTakeReply({ nowUs, buckets, served }: TakeReply, call: TakeCall): WireTakeReply {
  const costs = refusedCosts(call, served);
  return [nowUs, buckets.map((reading, i) => encodeReading(reading, call.buckets[i], costs[i])), served];
}

/** As {@link encodeTakeReply}. */
export function encodePeekReply({ nowUs, buckets }: PeekReply, addresses: readonly BucketAddress[]): WirePeekReply {
  return [nowUs, buckets.map((reading, i) => encodeReading(reading, addresses[i]))];
}

function encodeReading(
  reading: BucketReading,
  address: BucketAddress | undefined,
  costs: readonly number[] = [],
): WireReading {
  if (reading.kind === "fault") return [reading.error.code, reading.error.message];
  const { shape } = (address as BucketAddress).policy;
  const state = encodeState(algorithmOf(shape).summary?.(reading.state, shape, costs) ?? reading.state);
  const { block } = reading.state;
  if (reading.lease === undefined) return block === undefined ? [state] : [state, NO_LEASE, block.untilUs];
  const { id, tokens, contended } = reading.lease;
  const lease = [id, tokens, contended ? 1 : 0];
  return block === undefined ? [state, lease] : [state, lease, block.untilUs];
}

/** Where a lease would be, in front of a block. */
const NO_LEASE: readonly number[] = [];

function encodeState(state: BucketState): number[] {
  switch (state.kind) {
    case "token-bucket": {
      const { older, newer, demand } = state;
      const numbers = [state.level, state.timeUs, state.unitsPerToken, state.fullUs];
      if (older.id === 0 && newer.id === 0 && demand === 0) return numbers;
      return [...numbers, older.tokens, older.id, older.deathUs, newer.tokens, newer.id, newer.deathUs, demand];
    }
    case "fixed-window":
      return [state.startUs, state.used, ...encodeWindowLease(state)];
    case "sliding-window-counter":
      return [state.startUs, state.previous, state.current, ...encodeWindowLease(state)];
    case "sliding-window-log":
      return wireEntries(state);
  }
}

function encodeWindowLease({ lease }: LeasableWindow): number[] {
  return lease === undefined ? [] : [lease.tokens, lease.id];
}

/** The reply of `allotShares`. */
export function encodeAllotment({ replicas, share, even, due, demand }: Allotment): number[] {
  return [replicas, share, even, due, demand];
}

/** @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY` for anything that {@link encodeAllotment} does not write. */
export function reviveAllotment(wire: unknown): Allotment {
  const [replicas, share, even, due, demand] = readList(wire, "an allotment", 5);
  return {
    replicas: readWhole(replicas, "a number of processes", 0),
    share: readWhole(share, "a share", 0, WHOLE),
    even: readWhole(even, "an even share", 0, WHOLE),
    due: readWhole(due, "a share that is due", 0, WHOLE),
    demand: readWhole(demand, "a demand", 0),
  };
}

/** @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY` for anything that is no reply to `call`. */
export function reviveTakeReply(wire: unknown, { buckets, runs }: TakeCall): TakeReply {
  const [nowUs, readings, served] = readList(wire, "a reply", 3);
  const counts = readList(served, "what was served", runs.length);
  return {
    ...revivePeekReply([nowUs, readings], buckets),
    served: runs.map(({ count }, i) => readWhole(counts[i], "what was served", 0, count)),
  };
}

/** @throws SpillwayError as {@link reviveTakeReply}. */
export function revivePeekReply(wire: unknown, addresses: readonly BucketAddress[]): PeekReply {
  const [time, readings] = readList(wire, "a reply", 2);
  const list = readList(readings, "the buckets of a reply", addresses.length);
  const nowUs = readWhole(time, "the time", 1);
  return { nowUs, buckets: addresses.map(({ policy }, i) => reviveReading(list[i], policy.shape, nowUs)) };
}

function reviveReading(wire: unknown, shape: BucketShape, nowUs: number): BucketReading {
  const [first, second, untilUs] = readList(wire, "a reading");
  if (typeof first === "string") return { kind: "fault", error: reviveError(first, second) };
  const state = reviveState(shape, first, nowUs);
  if (untilUs !== undefined)
    state.block = { fromUs: nowUs, untilUs: readWhole(untilUs, "the end of a block", nowUs + 1) };
  const isLeased = second !== undefined && (second as readonly unknown[]).length !== 0;
  return { kind: "state", state, lease: isLeased ? reviveLease(second) : undefined };
}

function reviveState(shape: BucketShape, wire: unknown, nowUs: number): BucketState {
  const { kind } = shape;
  const list = readList(wire, "a state");
  if (!hasLengthOf(kind, list.length)) throw strange(`a ${kind} of ${list.length} numbers`);
  const numbers = list.map((number) => readNumber(number, "a number of a state", -Number.MAX_SAFE_INTEGER));
  const at = (index: number): number => numbers[index] ?? 0;
  switch (kind) {
    case "fixed-window":
      return { kind, startUs: at(0), used: at(1), ...reviveWindowLease(numbers, 2) };
    case "sliding-window-counter":
      return { kind, startUs: at(0), previous: at(1), current: at(2), nowUs, ...reviveWindowLease(numbers, 3) };
    case "sliding-window-log":
      return logOfEntries(shape, numbers, nowUs);
    case "token-bucket":
      return {
        kind,
        level: at(0),
        timeUs: at(1),
        unitsPerToken: at(2),
        fullUs: at(3),
        older: { tokens: at(4), id: at(5), deathUs: at(6) },
        newer: { tokens: at(7), id: at(8), deathUs: at(9) },
        demand: at(10),
      };
  }
}

function reviveWindowLease(numbers: readonly number[], from: number): LeasableWindow {
  const [tokens, id] = numbers.slice(from);
  return tokens === undefined || id === undefined ? {} : { lease: { tokens, id } };
}

/** Whether so many numbers make a state. There is a short form where nothing is on lease, of a bucket where nothing ever was. */
function hasLengthOf(kind: BucketState["kind"], length: number): boolean {
  switch (kind) {
    case "fixed-window":
      return length === 2 || length === 4;
    case "sliding-window-counter":
      return length === 3 || length === 5;
    case "sliding-window-log":
      return length % 2 === 0;
    case "token-bucket":
      return length === 4 || length === 11;
  }
}

function reviveLease(wire: unknown): LeaseGrant {
  const [id, tokens, contended] = readList(wire, "a lease", 3);
  return {
    id: readWhole(id, "the id of a lease", 0),
    tokens: readWhole(tokens, "the tokens of a lease", 0),
    contended: readWhole(contended, "whether a bucket is contended", 0, 1) === 1,
  };
}

/** An error that the other side told by its code and message. */
export function reviveError(code: unknown, message: unknown): SpillwayError {
  if (typeof code !== "string" || !/^ERR_SPILLWAY_[A-Z_]+$/.test(code))
    throw strange(`an error's code is ${show(code)}`);
  return new SpillwayError(code as SpillwayErrorCode, readText(message, "an error's message"));
}
