import type { BucketState } from "../../algorithms/bucket.ts";
import { SpillwayError, show } from "../../errors.ts";
import type { Policy } from "../../policy.ts";
import type { BucketAddress, BucketReading, PeekReply, TakeCall, TakeReply } from "../store.ts";

/** Reads a flat reply of integers slot by slot. Anything else is a fault of the store, and never an admission. */
class ReplyReader {
  readonly #slots: readonly unknown[];
  #next = 0;

  constructor(reply: unknown) {
    if (!Array.isArray(reply)) throw strange(`an array was expected, ${show(reply)} came`);
    this.#slots = reply;
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
  const nowUs = instant(reader);
  const buckets = call.buckets.map(({ policy, report }, i) =>
    reading(reader, policy, keys[i] as string, report !== undefined),
  );
  const served = call.runs.map(({ count }) => {
    const number = reader.integer();
    if (number < 0 || number > count) throw strange(`${number} of ${count} asks were served`);
    return number;
  });
  reader.end();
  return { nowUs, buckets, served };
}

/** The reply of the scripts that only tell how buckets stand. @throws SpillwayError `ERR_SPILLWAY_STORE_REPLY`. */
export function decodePeek(reply: unknown, addresses: readonly BucketAddress[], keys: readonly string[]): PeekReply {
  const reader = new ReplyReader(reply);
  const nowUs = instant(reader);
  const buckets = addresses.map(({ policy }, i) => reading(reader, policy, keys[i] as string, false));
  reader.end();
  return { nowUs, buckets };
}

function instant(reader: ReplyReader): number {
  const nowUs = reader.integer();
  if (nowUs <= 0) throw strange(`the time is ${nowUs}`);
  return nowUs;
}

function reading(reader: ReplyReader, policy: Policy, key: string, reported: boolean): BucketReading {
  const flag = reader.integer();
  const a = reader.integer();
  const b = reader.integer();
  if (flag === -1) return { kind: "fault", error: unreadable(key, a) };
  if (policy.shape.kind === "fixed-window" && flag === 0)
    return { kind: "state", state: { kind: "fixed-window", used: a, startUs: b }, lease: undefined };
  if (policy.shape.kind !== "token-bucket" || (flag !== 0 && flag !== 1))
    throw strange(`flag ${flag} of ${policy.name}`);
  const { unitsPerToken, fullUs } = policy.shape;
  const state: BucketState = {
    kind: "token-bucket",
    level: a,
    timeUs: b,
    unitsPerToken,
    fullUs,
    older: { tokens: 0, id: 0, deathUs: 0 },
    newer: { tokens: 0, id: 0, deathUs: 0 },
    demand: 0,
  };
  if (flag === 0) return { kind: "state", state, lease: undefined };
  for (const escrow of [state.older, state.newer]) {
    escrow.tokens = reader.integer();
    escrow.deathUs = reader.integer();
  }
  const lease = { id: reader.integer(), tokens: reader.integer(), contended: reader.integer() === 1 };
  return { kind: "state", state, lease: reported ? lease : undefined };
}

function unreadable(key: string, code: number): SpillwayError {
  const what = code === 1 ? "holds a value of another type" : "holds a value that no script of this version wrote";
  return new SpillwayError(
    "ERR_SPILLWAY_BUCKET_UNREADABLE",
    `The Redis key ${JSON.stringify(key)} ${what}; reset() of the limiter, or DEL, makes it usable again.`,
  );
}
