import type { Algorithm } from "./bucket.ts";

/** A token bucket policy as integers. Build it with {@link tokenBucketShape}. */
export interface TokenBucketShape {
  readonly kind: "token-bucket";
  /** Level units that make one token. */
  readonly unitsPerToken: number;
  /** Level units that one tick brings. */
  readonly unitsPerTick: number;
  /** The length of a tick; 1 unless burst x period would pass 2^53. */
  readonly tickUs: number;
  /** Capacity in tokens. Whole for a policy; a backstop's share of one may be a fraction. */
  readonly burst: number;
  /** Time from empty to full. */
  readonly fullUs: number;
}

/** Tokens leased at about one time: how many are unsettled, the lease that opened the escrow, and when they die. */
export interface Escrow {
  tokens: number;
  id: number;
  deathUs: number;
}

/** One bucket. `level` may be negative (debt), down to minus the burst. */
export interface TokenBucketState {
  readonly kind: "token-bucket";
  level: number;
  timeUs: number;
  unitsPerToken: number;
  /** The longest time to full among the policies this bucket has lived under; its expiry rests on it. */
  fullUs: number;
  older: Escrow;
  newer: Escrow;
  /** Demand of all replicas, in tokens, decayed over `2 x` the drain time. */
  demand: number;
}

const LARGEST_LEVEL = Number.MAX_SAFE_INTEGER;
const LONGEST_EXPIRY_MS = 100 * 365 * 86_400_000;

/**
 * `limit` tokens per `periodUs`, holding up to `burst`. The rate is exact where burst x period fits 2^53 after reduction;
 * elsewhere a tick of several microseconds makes it fit, and the rate is low by less than burst / (2^53 - 1 - burst) of
 * itself; a bucket then holds by less than one tick's refill more than exact arithmetic gives it.
 */
export function tokenBucketShape(limit: number, periodUs: number, burst: number): TokenBucketShape {
  const divisor = greatestCommonDivisor(limit, periodUs);
  const unitsPerTick = limit / divisor;
  const reducedPeriodUs = periodUs / divisor;
  const tickUs = smallestTickUs(reducedPeriodUs, burst);
  const unitsPerToken = Math.ceil(reducedPeriodUs / tickUs);
  const fullUs = Math.ceil((burst * unitsPerToken) / unitsPerTick) * tickUs;
  return { kind: "token-bucket", unitsPerToken, unitsPerTick, tickUs, burst, fullUs };
}

function smallestTickUs(periodUs: number, burst: number): number {
  const mostUnitsPerToken = Math.floor(LARGEST_LEVEL / burst);
  const least = Math.ceil(periodUs / mostUnitsPerToken);
  // A tick that divides the period keeps the rate exact. Where there is none close by, the number of units is rounded up.
  for (let tickUs = least; tickUs <= least + 1000; tickUs++) if (periodUs % tickUs === 0) return tickUs;
  return least;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/**
 * The token bucket, the same machine as GCRA, with an escrow for tokens that replicas hold as leases.
 *
 * A level is kept in units of `1 / unitsPerToken` token, so that `unitsPerTick` units per tick of `tickUs` microseconds
 * refill it without a fraction. `lua/lib/token-bucket.lua` computes the same, number for number; the model tests hold the
 * two together.
 */
export const tokenBucket: Algorithm<TokenBucketShape, TokenBucketState> = {
  open: (shape, nowUs) => ({
    kind: "token-bucket",
    level: fullLevel(shape),
    timeUs: nowUs,
    unitsPerToken: shape.unitsPerToken,
    fullUs: shape.fullUs,
    older: { tokens: 0, id: 0, deathUs: 0 },
    newer: { tokens: 0, id: 0, deathUs: 0 },
    demand: 0,
  }),

  copy: (state) => ({ ...state, older: { ...state.older }, newer: { ...state.newer } }),

  /**
   * Refills in pieces, each under the escrow that was alive in it. Must come before anything else of a call, and before
   * settlement above all: tokens spent from a lease made no room for a refill that happened before they were reported.
   */
  advance(state, shape, nowUs) {
    if (state.unitsPerToken !== shape.unitsPerToken) {
      state.level = rescaled(state.level, state.unitsPerToken, shape.unitsPerToken);
      state.unitsPerToken = shape.unitsPerToken;
    }
    state.level = Math.max(state.level, -fullLevel(shape));
    state.fullUs = Math.max(state.fullUs, shape.fullUs);
    if (nowUs < state.timeUs) {
      const back = state.timeUs - nowUs;
      state.older.deathUs -= back;
      state.newer.deathUs -= back;
      state.timeUs = nowUs;
    }
    for (const escrow of [state.older, state.newer]) {
      if (escrow.tokens > 0 && escrow.deathUs <= nowUs) {
        refillTo(state, shape, escrow.deathUs);
        escrow.tokens = 0;
      }
    }
    refillTo(state, shape, nowUs);
  },

  fits: (state, shape, cost) => cost === 0 || unitsOf(shape, cost) <= state.level,

  charge(state, shape, cost) {
    state.level -= cost * shape.unitsPerToken;
  },

  adjust(state, shape, tokens) {
    const moved = state.level + tokens * shape.unitsPerToken;
    if (tokens > 0) state.level = Math.max(state.level, Math.min(moved, ceilingOf(state, shape)));
    else state.level = Math.max(moved, -fullLevel(shape));
  },

  reset(state, shape) {
    state.level = ceilingOf(state, shape);
  },

  /** A cost that the escrow stands in the way of waits for the escrow's death first. */
  waitUs(state, shape, cost, nowUs) {
    if (tokenBucket.fits(state, shape, cost)) return 0;
    if (cost > shape.burst) return Number.POSITIVE_INFINITY;
    let level = state.level;
    let fromUs = state.timeUs;
    let free = shape.burst - escrowed(state);
    for (const escrow of [state.older, state.newer]) {
      if (cost <= free) break;
      if (escrow.tokens === 0) continue;
      const ticks = Math.max(0, Math.floor((escrow.deathUs - fromUs) / shape.tickUs));
      level = Math.min(level + shape.unitsPerTick * ticks, Math.max(0, Math.floor(free * shape.unitsPerToken)));
      fromUs = Math.max(fromUs, escrow.deathUs);
      free += escrow.tokens;
    }
    const ticks = Math.max(0, Math.ceil((unitsOf(shape, cost) - level) / shape.unitsPerTick));
    return fromUs + ticks * shape.tickUs - nowUs;
  },

  remaining: (state, shape) => Math.max(0, Math.floor(state.level / shape.unitsPerToken)),

  /**
   * The time to full, as much again for a debt (a policy that the bucket has lived under may repay it slower than this one)
   * and the rest of the escrow's life, together; never above a hundred years.
   */
  expiryMs(state, _shape, nowUs) {
    const debtUs = state.level < 0 ? state.fullUs : 0;
    let escrowUs = 0;
    for (const escrow of [state.older, state.newer]) {
      if (escrow.tokens > 0) escrowUs = Math.max(escrowUs, escrow.deathUs - nowUs);
    }
    return Math.min(Math.ceil((state.fullUs + debtUs + escrowUs) / 1000) + 1, LONGEST_EXPIRY_MS);
  },

  capacity: (shape) => shape.burst,
};

/** Tokens leased and neither settled nor dead. */
export function escrowed(state: TokenBucketState): number {
  return state.older.tokens + state.newer.tokens;
}

/**
 * Closes `settled` leased tokens of lease `id`, of which `returned` were not spent and go back on the shelf. A lease that
 * this bucket does not know, or no longer holds so much of, settles only what is there.
 */
export function settleLease(
  state: TokenBucketState,
  shape: TokenBucketShape,
  id: number,
  settled: number,
  returned: number,
): void {
  for (const escrow of [state.older, state.newer]) {
    if (escrow.id !== id || escrow.tokens === 0) continue;
    const closed = Math.min(settled, escrow.tokens);
    escrow.tokens -= closed;
    state.level += Math.min(returned, closed) * shape.unitsPerToken;
    state.level = Math.min(state.level, ceilingOf(state, shape));
    return;
  }
}

/**
 * Moves `tokens` (at most what is on the shelf) from the level to the escrow for `lifeUs` and returns the lease's id. The
 * life of tokens already in the escrow that these join is only ever lengthened.
 */
export function grantLease(
  state: TokenBucketState,
  shape: TokenBucketShape,
  tokens: number,
  lifeUs: number,
  nowUs: number,
): number {
  const { older, newer } = state;
  if (older.tokens === 0 || newer.tokens === 0) {
    const lastId = Math.max(older.id, newer.id);
    if (newer.tokens > 0) Object.assign(older, newer);
    Object.assign(newer, { tokens: 0, id: Math.max(nowUs, lastId + 1), deathUs: 0 });
  }
  newer.deathUs = Math.max(newer.deathUs, older.tokens > 0 ? older.deathUs : 0, nowUs + lifeUs);
  newer.tokens += tokens;
  state.level -= tokens * shape.unitsPerToken;
  return newer.id;
}

function fullLevel(shape: TokenBucketShape): number {
  return unitsOf(shape, shape.burst);
}

/** Whole for whole tokens; the burst of a backstop's share, which may be a fraction, is rounded down. */
function unitsOf(shape: TokenBucketShape, tokens: number): number {
  return Math.floor(tokens * shape.unitsPerToken);
}

/** Refill stops where level + escrow would pass the burst. */
function ceilingOf(state: TokenBucketState, shape: TokenBucketShape): number {
  return Math.max(0, Math.floor((shape.burst - escrowed(state)) * shape.unitsPerToken));
}

function refillTo(state: TokenBucketState, shape: TokenBucketShape, atUs: number): void {
  const ceiling = ceilingOf(state, shape);
  const ticks = Math.floor((atUs - state.timeUs) / shape.tickUs);
  state.level += shape.unitsPerTick * ticks;
  if (state.level >= ceiling) {
    state.level = ceiling;
    state.timeUs = atUs;
  } else {
    state.timeUs += ticks * shape.tickUs;
  }
}

/** A level in another scale, rounded down, so that flapping between two policies adds nothing. */
function rescaled(level: number, from: number, to: number): number {
  const tokens = Math.floor(level / from);
  const rest = (level - tokens * from) * to;
  const inexact = rest > LARGEST_LEVEL ? 1 : 0;
  return tokens * to + Math.max(0, Math.floor(rest / from) - inexact);
}
