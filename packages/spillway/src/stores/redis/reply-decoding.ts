import type { BucketShape, BucketState } from "../../algorithms/bucket.ts";
import { logOfEntries, type SlidingWindowLogShape } from "../../algorithms/sliding-window-log.ts";
import type { Escrow, TokenBucketShape } from "../../algorithms/token-bucket.ts";
import { isLeasableWindow } from "../../algorithms/window-lease.ts";
import { SpillwayError, show } from "../../errors.ts";
import type { Policy } from "../../policy.ts";
import { WHOLE } from "../share-ledger.ts";
import type {
  Allotment,
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
  if (length === call.runs.length && reader.length < 1 + 3 * length) return decodeShort(reader, call);
  const nowUs = instant(reader);
  const buckets = call.buckets.map(({ policy, report }, i) =>
    reading(reader, nowUs, policy, keys[i] as string, report),
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
  const buckets = addresses.map(({ policy }, i) => reading(reader, nowUs, policy, keys[i] as string));
  reader.end();
  return { nowUs, buckets };
}

/** The reply of `lua/allot-shares.lua`. @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY`. */
export function decodeAllotment(reply: unknown): Allotment {
  const reader = new ReplyReader(reply);
  instant(reader);
  const [replicas, share, even, due, demand] = [0, 0, 0, 0, 0].map(() => reader.integer()) as FiveNumbers;
  reader.end();
  if (replicas < 0) throw strange(`${replicas} processes are at work`);
  for (const part of [share, even, due]) if (part < 0 || part > WHOLE) throw strange(`a share of ${part} billionths`);
  if (demand < 0) throw strange(`a demand of ${demand}`);
  return { replicas, share, even, due, demand };
}

type FiveNumbers = [number, number, number, number, number];

function instant(reader: ReplyReader): number {
  const nowUs = reader.integer();
  if (nowUs <= 0) throw strange(`the time is ${nowUs}`);
  return nowUs;
}

/** Stands in front of a bucket that is blocked, with the end of the block. */
const BLOCKED = -2;
/** Parts of a flag. What stands for slots comes after flag and level, or the slots of a window, in this order. */
const TIME = 1;
const OLDER_ESCROW = 2;
const NEWER_ESCROW = 4;
const LEASE_ID = 8;
/** A mark: it stands for no slot. */
const CONTENDED = 16;
/** Nor do the tokens of the lease that was just granted, each of which adds so much. */
const LEASED_TOKEN = 32;

function reading(
  reader: ReplyReader,
  nowUs: number,
  { name, shape }: Pick<Policy, "name" | "shape">,
  key: string,
  report?: LeaseReport,
  blockedUntilUs?: number,
): BucketReading {
  const flag = reader.integer();
  const amount = reader.integer();
  if (flag === -1 && (amount === 1 || amount === 2)) return { kind: "fault", error: unreadable(key, amount) };
  if (flag === BLOCKED && blockedUntilUs === undefined && amount > nowUs)
    return reading(reader, nowUs, { name, shape }, key, report, amount);
  const told = unblockedReading(reader, nowUs, { name, shape }, report, flag, amount);
  if (blockedUntilUs !== undefined) told.state.block = { fromUs: nowUs, untilUs: blockedUntilUs };
  return told;
}

function unblockedReading(
  reader: ReplyReader,
  nowUs: number,
  { name, shape }: Pick<Policy, "name" | "shape">,
  report: LeaseReport | undefined,
  flag: number,
  amount: number,
): BucketReading & { readonly kind: "state" } {
  if (flag < 0 || flag > largestFlag(shape, report) || (shape.kind !== "token-bucket" && amount < 0))
    throw strange(`flag ${flag} with ${amount} for policy ${name}`);
  if (shape.kind !== "token-bucket") return windowReading(reader, nowUs, shape, report, flag, amount);
  const parts = flag % LEASED_TOKEN;
  const timeUs = parts & TIME ? reader.integer() : nowUs;
  const older = parts & OLDER_ESCROW ? escrow(reader, name) : NO_ESCROW;
  const newer = parts & NEWER_ESCROW ? escrow(reader, name) : undefined;
  const lease = report && grant(reader, parts, Math.floor(flag / LEASED_TOKEN), nowUs);
  const state = tokenBucketState(shape, amount, timeUs, older, newer ?? escrowOf(lease, report, nowUs));
  return { kind: "state", state, lease };
}

/** Of a window: where it stands, what is out on lease of it, and what was just leased. */
function windowReading(
  reader: ReplyReader,
  nowUs: number,
  shape: WindowShape,
  report: LeaseReport | undefined,
  flag: number,
  amount: number,
): BucketReading & { readonly kind: "state" } {
  const parts = flag % LEASED_TOKEN;
  const tokens = Math.floor(flag / LEASED_TOKEN);
  if (parts & ~(NEWER_ESCROW + LEASE_ID)) throw strange(`flag ${flag} of a window`);
  const state = windowState(reader, shape, amount, reader.integer(), nowUs);
  const out = parts & NEWER_ESCROW ? reader.integer() : tokens;
  if (out < tokens || out > amount) throw strange(`${out} tokens of ${amount} on lease, ${tokens} of them new`);
  const isLeasable = isLeasableWindow(state);
  if (isLeasable && out > 0) state.lease = { tokens: out, id: 0 };
  return { kind: "state", state, lease: isLeasable && report ? grant(reader, parts, tokens, nowUs) : undefined };
}

/**
 * Only a report is answered with a lease: of no more than was wished for, since those tokens would be spent without a word to
 * the store. A log is never leased.
 */
function largestFlag({ kind }: BucketShape, report: LeaseReport | undefined): number {
  if (kind === "sliding-window-log") return 0;
  if (report !== undefined) return LEASED_TOKEN * (report.wish + 1) - 1;
  return kind === "token-bucket" ? TIME + OLDER_ESCROW + NEWER_ESCROW : NEWER_ESCROW;
}

type WindowShape = Exclude<BucketShape, TokenBucketShape>;

function windowState(reader: ReplyReader, shape: WindowShape, a: number, b: number, nowUs: number): BucketState {
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

function escrow(reader: ReplyReader, policyName: string): Escrow {
  const tokens = reader.integer();
  if (tokens <= 0) throw strange(`${tokens} tokens on lease for policy ${policyName}`);
  return { tokens, id: 0, deathUs: reader.integer() };
}

/** A newer escrow that is not told of is the lease that is, if any. */
function escrowOf(lease: LeaseGrant | undefined, report: LeaseReport | undefined, nowUs: number): Escrow {
  if (lease === undefined || report === undefined || lease.tokens === 0) return NO_ESCROW;
  return { tokens: lease.tokens, id: 0, deathUs: nowUs + report.lifeUs };
}

function grant(reader: ReplyReader, parts: number, tokens: number, nowUs: number): LeaseGrant {
  const contended = (parts & CONTENDED) !== 0;
  const hasId = (parts & LEASE_ID) !== 0;
  if (tokens === 0 && hasId) throw strange("it names a lease that it does not grant");
  const id = hasId ? reader.integer() : nowUs;
  if (id <= 0) throw strange(`a lease of ${tokens} tokens with id ${id}`);
  return { id: tokens === 0 ? 0 : id, tokens, contended };
}

function unreadable(key: string, code: number): SpillwayError {
  const what = code === 1 ? "holds a value of another type" : "holds a value that no script of this version wrote";
  return new SpillwayError(
    "ERR_SPILLWAY_BUCKET_UNREADABLE",
    `The Redis key ${JSON.stringify(key)} ${what}; reset() of the limiter, or DEL, makes it usable again.`,
  );
}
