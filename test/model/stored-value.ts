import type { BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import { logOfEntries, wireEntries } from "../../packages/spillway/src/algorithms/sliding-window-log.ts";
import type { TokenBucketState } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { LeasableWindow } from "../../packages/spillway/src/algorithms/window-lease.ts";

/** A stored value as numbers: the byte that names its form, and what stands behind it (`lua/README.md`). */
export interface StoredValue {
  readonly form: number;
  readonly numbers: readonly number[];
}

/** What a script writes for a state. */
export function storedValueOf(state: BucketState): StoredValue {
  if (state.block === undefined) return countedValueOf(state);
  const { form, numbers } = countedValueOf(state);
  return { form: BLOCKED, numbers: [state.block.fromUs, state.block.untilUs, form, ...numbers] };
}

/** In front of the form and the numbers of a bucket that is blocked: from when, until when. */
const BLOCKED = 9;
/** The form and the two times of a block. */
const BLOCK_HEAD = 17;

function countedValueOf(state: BucketState): StoredValue {
  switch (state.kind) {
    case "fixed-window":
      return storedWindowOf([state.startUs, state.used], state, 3, 6);
    case "sliding-window-counter":
      return storedWindowOf([state.startUs, state.previous, state.current], state, 4, 7);
    case "sliding-window-log":
      return { form: 5, numbers: [state.keepUs, state.keptUs, state.keepTokens, ...wireEntries(state)] };
    case "token-bucket":
      return storedBucketOf(state);
  }
}

function storedWindowOf(
  numbers: readonly number[],
  { lease }: LeasableWindow,
  form: number,
  leasedForm: number,
): StoredValue {
  return lease === undefined ? { form, numbers } : { form: leasedForm, numbers: [...numbers, lease.tokens, lease.id] };
}

function storedBucketOf(state: TokenBucketState): StoredValue {
  const { level, timeUs, unitsPerToken, fullUs, older, newer, demand } = state;
  const plain = [level, timeUs, unitsPerToken, fullUs];
  if (newer.id === 0 && demand === 0) return { form: 1, numbers: plain };
  const escrow = [older, newer].flatMap(({ tokens, id, deathUs }) => [tokens, id, deathUs]);
  return { form: 2, numbers: [...plain, ...escrow, demand] };
}

/** The state that a script reads back: a bucket without leases or demand keeps four numbers only. */
export function stateOfStored({ form, numbers }: StoredValue): BucketState {
  const at = (index: number): number => numbers[index] ?? 0;
  if (form === BLOCKED) {
    const state = stateOfStored({ form: at(2), numbers: numbers.slice(3) });
    state.block = { fromUs: at(0), untilUs: at(1) };
    return state;
  }
  if (form === 3) return { kind: "fixed-window", startUs: at(0), used: at(1) };
  if (form === 4)
    return { kind: "sliding-window-counter", startUs: at(0), previous: at(1), current: at(2), nowUs: at(0) };
  if (form === 6) {
    const lease = { tokens: at(2), id: at(3) };
    return { kind: "fixed-window", startUs: at(0), used: at(1), lease };
  }
  if (form === 7) {
    const lease = { tokens: at(3), id: at(4) };
    return { kind: "sliding-window-counter", startUs: at(0), previous: at(1), current: at(2), nowUs: at(0), lease };
  }
  if (form === 5) {
    const [keepUs, keptUs, keepTokens] = [at(0), at(1), at(2)];
    const shape = { kind: "sliding-window-log", limit: keepTokens, periodUs: keepUs } as const;
    return { ...logOfEntries(shape, numbers.slice(3), keptUs), keptUs };
  }
  return {
    kind: "token-bucket",
    level: at(0),
    timeUs: at(1),
    unitsPerToken: at(2),
    fullUs: at(3),
    older: { tokens: at(4), id: at(5), deathUs: at(6) },
    newer: { tokens: at(7), id: at(8), deathUs: at(9) },
    demand: at(10),
  };
}

/** Reads the bytes of a stored value. */
export function unpackStored(bytes: Buffer): StoredValue {
  const form = bytes.length > 0 ? bytes.readUInt8(0) : 0;
  if (form === BLOCKED && bytes.length > BLOCK_HEAD) {
    const behind = unpackStored(bytes.subarray(BLOCK_HEAD));
    return { form, numbers: [bytes.readDoubleLE(1), bytes.readDoubleLE(9), behind.form, ...behind.numbers] };
  }
  if (form === 5 && bytes.length >= LOG_HEAD && (bytes.length - LOG_HEAD) % 8 === 0) return unpackLog(bytes);
  if (bytes.length % 8 !== 1) throw new Error(`A stored value of ${bytes.length} bytes: ${bytes.toString("hex")}`);
  const numbers = Array.from({ length: (bytes.length - 1) / 8 }, (_, index) => bytes.readDoubleLE(1 + 8 * index));
  return { form, numbers };
}

/** What stands before the entries of a log: its form, three doubles, two short numbers, and which of the entries count. */
const LOG_HEAD = 37;

/** The head's numbers without what only serves to read the entries, then time and tokens of each entry. */
function unpackLog(bytes: Buffer): StoredValue {
  const [keepUs, keptUs, newestUs] = [1, 9, 17].map((at) => bytes.readDoubleLE(at)) as [number, number, number];
  const [keepTokens, base] = [bytes.readUInt16LE(25), bytes.readUInt16LE(27)];
  const [from, to] = [bytes.readUInt32LE(29), bytes.readUInt32LE(33)];
  const numbers = [keepUs, keptUs, keepTokens];
  let before = base;
  for (let at = LOG_HEAD + 8 * from; at < LOG_HEAD + 8 * to; at += 8) {
    const behindUs = (newestUs - bytes.readUIntLE(at, 6)) % 2 ** 48;
    const count = bytes.readUInt16LE(at + 6);
    numbers.push(newestUs - behindUs, (count - before + 2 ** 16) % 2 ** 16);
    before = count;
  }
  return { form: 5, numbers };
}

/** The bytes of a stored value. */
export function packStored({ form, numbers }: StoredValue): Buffer {
  if (form === 5) return packLog(numbers);
  if (form === BLOCKED && numbers.length > 2) {
    const behind = packStored({ form: numbers[2] as number, numbers: numbers.slice(3) });
    return Buffer.concat([packStored({ form, numbers: numbers.slice(0, 2) }), behind]);
  }
  const bytes = Buffer.alloc(1 + 8 * numbers.length);
  bytes.writeUInt8(form, 0);
  for (const [index, number] of numbers.entries()) bytes.writeDoubleLE(number, 1 + 8 * index);
  return bytes;
}

function packLog([keepUs = 0, keptUs = 0, keepTokens = 0, ...entries]: readonly number[]): Buffer {
  const bytes = Buffer.alloc(LOG_HEAD + 4 * entries.length);
  bytes.writeUInt8(5, 0);
  for (const [index, number] of [keepUs, keptUs, entries.at(-2) ?? keptUs].entries())
    bytes.writeDoubleLE(number, 1 + 8 * index);
  bytes.writeUInt16LE(keepTokens, 25);
  bytes.writeUInt32LE(entries.length / 2, 33);
  let count = 0;
  for (let i = 0; i < entries.length; i += 2) {
    count += entries[i + 1] as number;
    bytes.writeUIntLE((entries[i] as number) % 2 ** 48, LOG_HEAD + 4 * i, 6);
    bytes.writeUInt16LE(count % 2 ** 16, LOG_HEAD + 4 * i + 6);
  }
  return bytes;
}
