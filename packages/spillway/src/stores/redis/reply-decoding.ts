import type { BucketShape, BucketState } from "../../algorithms/bucket.ts";
import { logOfEntries, type SlidingWindowLogShape } from "../../algorithms/sliding-window-log.ts";
import type { Escrow, TokenBucketShape } from "../../algorithms/token-bucket.ts";
import { SpillwayError, show } from "../../errors.ts";
import type { Policy } from "../../policy.ts";
import type {
  BucketAddress,
  BucketReading,
  LeaseGrant,
  LeaseReport,
  PeekReply,
  TakeCall,
  TakeReply,
} from "../store.ts";

/** Reads a flat reply of integers slot by slot. Anything else is a fault of the store, and never an admission. */
class ReplyReader {
  readonly #slots: readonly unknown[];
  #next = 0;

  constructor(reply: unknown) {
    if (!Array.isArray(reply)) throw strange(`an array was expected, ${show(reply)} came`);
    this.#slots = reply;
  }

  get length(): number {
    return this.#slots.length;
  }

  /** Clients may give integers as numbers, big integers or digits, as their user set them. */
  integer(): number {
    const slot = this.#slots[this.#next++];
    if (Number.isSafeInteger(slot)) return slot as number;
    const read =
      typeof slot === "bigint" || (typeof slot === "string" && /^-?\d+$/.test(slot)) ? Number(slot) : Number.NaN;
    if (!Number.isSafeInteger(read)) throw strange(`slot ${this.#next} is ${show(slot)} instead of an integer`);
    return read;
  }

  end(): void {
    if (this.#next !== this.#slots.length) throw strange(`${this.#slots.length} slots instead of ${this.#next}`);
  }
}

function strange(what: string): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_STORE_REPLY", `The store's reply has an unknown form: ${what}.`);
}

/** The reply of `lua/take.lua`. @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY`. */
export function decodeTake(reply: unknown, call: TakeCall, keys: readonly string[]): TakeReply {
  const reader = new ReplyReader(reply);
  const { length } = call.buckets;
  if (length > 1 && length === call.runs.length && reader.length < 1 + 3 * length) return decodeShort(reader, call);
  const nowUs = instant(reader);
  const buckets = call.buckets.map(({ policy, report }, i) =>
    reading(reader, policy, keys[i] as string, report, nowUs),
  );
  const served = call.runs.map(({ count }) => servedOf(reader, count));
  reader.end();
  return { nowUs, buckets, served };
}

/** The shorter answer to a call of many buckets that came out much alike. */
function decodeShort(reader: ReplyReader, { buckets, runs }: TakeCall): TakeReply {
  const nowUs = instant(reader);
  const served = servedOf(reader, Math.min(...runs.map(({ count }) => count)));
  const isSame = reader.length === 3;
  let level = 0;
  const readings = buckets.map(({ policy: { name, shape }, report }, i): BucketReading => {
    if (shape.kind !== "token-bucket" || report !== undefined) throw strange(`policy ${name} lacks slots`);
    if (i === 0 || !isSame) level = reader.integer();
    return { kind: "state", state: tokenBucketState(shape, level, nowUs, NO_ESCROW, NO_ESCROW), lease: undefined };
  });
  reader.end();
  return { nowUs, buckets: readings, served: runs.map(() => served) };
}

function servedOf(reader: ReplyReader, count: number): number {
  const served = reader.integer();
  if (served < 0 || served > count) throw strange(`${served} of ${count} asks were served`);
  return served;
}

/** The reply of the scripts that only tell how buckets stand. @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY`. */
export function decodePeek(reply: unknown, addresses: readonly BucketAddress[], keys: readonly string[]): PeekReply {
  const reader = new ReplyReader(reply);
  const nowUs = instant(reader);
  const buckets = addresses.map(({ policy }, i) => reading(reader, policy, keys[i] as string, undefined, nowUs));
  reader.end();
  return { nowUs, buckets };
}

/** The reply of `lua/count-replicas.lua`. @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY`. */
export function decodeCount(reply: unknown): number {
  const reader = new ReplyReader(reply);
  instant(reader);
  const count = reader.integer();
  reader.end();
  if (count < 1) throw strange(`${count} processes are at work`);
  return count;
}

function instant(reader: ReplyReader): number {
  const nowUs = reader.integer();
  if (nowUs <= 0) throw strange(`the time is ${nowUs}`);
  return nowUs;
}

function reading(
  reader: ReplyReader,
  { name, shape }: Policy,
  key: string,
  report: LeaseReport | undefined,
  nowUs: number,
): BucketReading {
  const flag = reader.integer();
  const a = reader.integer();
  const b = reader.integer();
  if (flag === -1 && (a === 1 || a === 2)) return { kind: "fault", error: unreadable(key, a) };
  if (shape.kind !== "token-bucket" && flag === 0 && a >= 0)
    return { kind: "state", state: windowState(reader, shape, a, b, nowUs), lease: undefined };
  // A report on a token bucket is always answered, so flag 0 would leave it open.
  if (shape.kind !== "token-bucket" || (flag !== 1 && (flag !== 0 || report !== undefined)))
    throw strange(`flag ${flag} with ${a} for policy ${name}`);
  const older = flag === 0 ? NO_ESCROW : escrow(reader, name);
  const newer = flag === 0 ? NO_ESCROW : escrow(reader, name);
  const state = tokenBucketState(shape, a, b, older, newer);
  if (flag === 0) return { kind: "state", state, lease: undefined };
  const lease = grant(reader, report?.wish ?? 0);
  return { kind: "state", state, lease: report === undefined ? undefined : lease };
}

function windowState(
  reader: ReplyReader,
  shape: Exclude<BucketShape, TokenBucketShape>,
  a: number,
  b: number,
  nowUs: number,
): BucketState {
  switch (shape.kind) {
    case "fixed-window":
      return { kind: shape.kind, used: a, startUs: b };
    case "sliding-window-counter": {
      const previous = reader.integer();
      if (previous < 0 || b > nowUs) throw strange(`${previous} tokens in the window before ${b}`);
      return { kind: shape.kind, startUs: b, previous, current: a, nowUs };
    }
    case "sliding-window-log":
      return logState(reader, shape, a, b, nowUs);
  }
}

/** @param used how many tokens the entries must have together. */
function logState(
  reader: ReplyReader,
  shape: SlidingWindowLogShape,
  used: number,
  length: number,
  nowUs: number,
): BucketState {
  if (length < 0 || length > used) throw strange(`${length} entries of ${used} tokens`);
  const entries: number[] = [];
  for (let i = 0; i < length; i++) {
    const [timeUs, tokens] = [reader.integer(), reader.integer()];
    if (timeUs > nowUs || timeUs <= (entries.at(-2) ?? 0) || tokens === 0)
      throw strange(`${tokens} tokens at ${timeUs}`);
    entries.push(timeUs, tokens);
  }
  const state = logOfEntries(shape, entries, nowUs);
  if (state.used !== used) throw strange(`${state.used} tokens in the entries of ${used}`);
  return state;
}

function tokenBucketState(
  { unitsPerToken, fullUs }: TokenBucketShape,
  level: number,
  timeUs: number,
  older: Escrow,
  newer: Escrow,
): BucketState {
  return { kind: "token-bucket", level, timeUs, unitsPerToken, fullUs, older, newer, demand: 0 };
}

/** Shared by all states without one: a reply's states are read, and only their level is changed. */
const NO_ESCROW: Escrow = Object.freeze({ tokens: 0, id: 0, deathUs: 0 });

function escrow(reader: ReplyReader, policy: string): Escrow {
  const tokens = reader.integer();
  if (tokens < 0) throw strange(`${tokens} tokens on lease for policy ${policy}`);
  return { tokens, id: 0, deathUs: reader.integer() };
}

/** More than was wished for is no grant: those tokens would be spent without a word to the store. */
function grant(reader: ReplyReader, wish: number): LeaseGrant {
  const id = reader.integer();
  const tokens = reader.integer();
  const contended = reader.integer();
  if (tokens < 0 || tokens > wish || tokens > 0 !== id > 0 || (contended !== 0 && contended !== 1))
    throw strange(`a lease of ${tokens} tokens with id ${id} and mark ${contended} where ${wish} were wished for`);
  return { id, tokens, contended: contended === 1 };
}

function unreadable(key: string, code: number): SpillwayError {
  const what = code === 1 ? "holds a value of another type" : "holds a value that no script of this version wrote";
  return new SpillwayError(
    "ERR_SPILLWAY_BUCKET_UNREADABLE",
    `The Redis key ${JSON.stringify(key)} ${what}; reset() of the limiter, or DEL, makes it usable again.`,
  );
}
