/** What a bucket's value in Redis says without its policy. */
export interface StoredBucket {
  readonly policy: string;
  readonly algorithm: string;
  /** Tokens there; negative for a debt. As it was at `writtenMs`: what has come in since is not counted. */
  readonly level: number | undefined;
  /** Counted in the window. */
  readonly used: number | undefined;
  /** Tokens that processes hold on lease. */
  readonly onLease: number;
  /** When the bucket was last brought up to date, or its window began, in ms since 1970. */
  readonly writtenMs: number;
}

const TOKEN_BUCKET = 1;
const LEASED_TOKEN_BUCKET = 2;
const FIXED_WINDOW = 3;

/** Reads a value as the scripts write it (see `lua/README.md`); `undefined` for any other. */
export function readStoredBucket(name: string, value: Buffer, nowMs: number): StoredBucket | undefined {
  const [policy = "", algorithm = ""] = name.split(":").slice(-2);
  const number = (index: number): number => value.readDoubleLE(1 + 8 * index);
  const common = { policy, algorithm };
  if (value[0] === FIXED_WINDOW && value.length === 17)
    return { ...common, level: undefined, used: number(1), onLease: 0, writtenMs: number(0) / 1000 };
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
