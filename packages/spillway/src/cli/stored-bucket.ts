/** What a bucket's value in Redis says without its policy. */
export interface StoredBucket {
  readonly policy: string;
  readonly algorithm: string;
  /** Tokens there; negative for a debt. As it was at `writtenMs`: what has come in since is not counted. */
  readonly level: number | undefined;
  /** Counted in the window, as it was at `writtenMs`: what has slid out of it since is among them. */
  readonly used: number | undefined;
  /** Counted in the window before, which a sliding window counter counts in part. */
  readonly usedBefore: number | undefined;
  /** Tokens that processes hold on lease, as far as they have not settled them; of a window they are among the used. */
  readonly onLease: number;
  /** When the bucket was last brought up to date, its window began, or a log's newest token was taken, in ms since 1970. */
  readonly writtenMs: number;
  /** How much longer the bucket is blocked; 0 without a block. */
  readonly blockedForMs: number;
}

const BLOCKED = 9;
const BLOCK_HEAD = 17;

const TOKEN_BUCKET = 1;
const LEASED_TOKEN_BUCKET = 2;
const FIXED_WINDOW = 3;
const SLIDING_COUNTER = 4;
const SLIDING_LOG = 5;
const LEASED_FIXED_WINDOW = 6;
const LEASED_SLIDING_COUNTER = 7;
const LOG_HEAD = 37;

/** Reads a value as the scripts write it (see `lua/README.md`); `undefined` for any other. */
export function readStoredBucket(name: string, value: Buffer, nowMs: number): StoredBucket | undefined {
  if (value[0] !== BLOCKED || value.length <= BLOCK_HEAD) return readCounted(name, value, nowMs);
  const behind = readCounted(name, value.subarray(BLOCK_HEAD), nowMs);
  return behind && { ...behind, blockedForMs: Math.max(0, value.readDoubleLE(9) / 1000 - nowMs) };
}

function readCounted(name: string, value: Buffer, nowMs: number): StoredBucket | undefined {
  const [policy = "", algorithm = ""] = name.split(":").slice(-2);
  const number = (index: number): number => value.readDoubleLE(1 + 8 * index);
  const common = { policy, algorithm, usedBefore: undefined, blockedForMs: 0 };
  const window = { ...common, level: undefined, onLease: 0 };
  if (value[0] === FIXED_WINDOW && value.length === 17)
    return { ...window, used: number(1), writtenMs: number(0) / 1000 };
  if (value[0] === SLIDING_COUNTER && value.length === 25)
    return { ...window, used: number(2), usedBefore: number(1), writtenMs: number(0) / 1000 };
  if (value[0] === LEASED_FIXED_WINDOW && value.length === 33)
    return { ...window, used: number(1), onLease: number(2), writtenMs: number(0) / 1000 };
  if (value[0] === LEASED_SLIDING_COUNTER && value.length === 41)
    return { ...window, used: number(2), usedBefore: number(1), onLease: number(3), writtenMs: number(0) / 1000 };
  if (value[0] === SLIDING_LOG && value.length >= LOG_HEAD)
    return { ...window, used: tokensOfLog(value), writtenMs: number(2) / 1000 };
  const isLeased = value[0] === LEASED_TOKEN_BUCKET && value.length === 89;
  if (!isLeased && !(value[0] === TOKEN_BUCKET && value.length === 33)) return undefined;
  const alive = (index: number): number => (number(index + 2) / 1000 > nowMs ? number(index) : 0);
  return {
    ...common,
    level: number(0) / number(2),
    used: undefined,
    onLease: isLeased ? alive(4) + alive(7) : 0,
    writtenMs: number(1) / 1000,
  };
}

/** Tokens of the entries that count: each has the count of all tokens up to and with it. */
function tokensOfLog(value: Buffer): number {
  const [before, from, to] = [value.readUInt16LE(27), value.readUInt32LE(29), value.readUInt32LE(33)];
  const lastAt = LOG_HEAD + 8 * to - 2;
  return from === to || lastAt + 2 > value.length ? 0 : (value.readUInt16LE(lastAt) - before + 2 ** 16) % 2 ** 16;
}
