import type { BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";

/** A stored value as numbers: the byte that names its form, and the doubles behind it (`lua/README.md`). */
export interface StoredValue {
  readonly form: number;
  readonly numbers: readonly number[];
}

/** What a script writes for a state. */
export function storedValueOf(state: BucketState): StoredValue {
  if (state.kind === "fixed-window") return { form: 3, numbers: [state.startUs, state.used] };
  const { level, timeUs, unitsPerToken, fullUs, older, newer, demand } = state;
  const plain = [level, timeUs, unitsPerToken, fullUs];
  if (newer.id === 0 && demand === 0) return { form: 1, numbers: plain };
  const escrow = [older, newer].flatMap(({ tokens, id, deathUs }) => [tokens, id, deathUs]);
  return { form: 2, numbers: [...plain, ...escrow, demand] };
}

/** The state that a script reads back: a bucket without leases or demand keeps four numbers only. */
export function stateOfStored({ form, numbers }: StoredValue): BucketState {
  const at = (index: number): number => numbers[index] ?? 0;
  if (form === 3) return { kind: "fixed-window", startUs: at(0), used: at(1) };
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
  if (bytes.length % 8 !== 1) throw new Error(`A stored value of ${bytes.length} bytes: ${bytes.toString("hex")}`);
  const numbers = Array.from({ length: (bytes.length - 1) / 8 }, (_, index) => bytes.readDoubleLE(1 + 8 * index));
  return { form: bytes.readUInt8(0), numbers };
}

/** The bytes of a stored value. */
export function packStored({ form, numbers }: StoredValue): Buffer {
  const bytes = Buffer.alloc(1 + 8 * numbers.length);
  bytes.writeUInt8(form, 0);
  for (const [index, number] of numbers.entries()) bytes.writeDoubleLE(number, 1 + 8 * index);
  return bytes;
}
