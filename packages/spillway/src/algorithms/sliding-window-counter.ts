import type { Algorithm } from "./bucket.ts";
import { quotientDown, quotientUp } from "./exact-quotient.ts";
import type { LeasableWindow } from "./window-lease.ts";

/** A sliding window that is estimated from two counts, as integers. */
export interface SlidingWindowCounterShape {
  readonly kind: "sliding-window-counter";
  readonly limit: number;
  readonly periodUs: number;
}

/** Two windows of one key, side by side. The first one began with the first request. */
export interface SlidingWindowCounterState extends LeasableWindow {
  readonly kind: "sliding-window-counter";
  /** Where the current window begins, and the previous one ends. */
  startUs: number;
  /** Tokens of the previous window. */
  previous: number;
  /** Tokens of the current one. */
  current: number;
  /** The instant that `advance` brought it to. Not stored. */
  nowUs: number;
}

/**
 * The sliding window counter: the previous window counts by the part of it that the last period still covers, rounded up to
 * whole tokens, as if its tokens had come evenly. Two numbers whatever the limit. In any time `T` it admits at most
 * `limit x (1 + T / period)`, as a token bucket with a burst of `limit` does.
 * `lua/lib/sliding-window-counter.lua` computes the same; the model tests hold the two together.
 */
export const slidingWindowCounter: Algorithm<SlidingWindowCounterShape, SlidingWindowCounterState> = {
  open: (_shape, nowUs) => ({ kind: "sliding-window-counter", startUs: nowUs, previous: 0, current: 0, nowUs }),

  copy: (state) => (state.lease === undefined ? { ...state } : { ...state, lease: { ...state.lease } }),

  /** What is unsettled when its window is over counts as used in it. */
  advance(state, shape, nowUs) {
    if (state.startUs > nowUs) state.startUs = nowUs;
    state.nowUs = nowUs;
    const windows = Math.floor((nowUs - state.startUs) / shape.periodUs);
    if (windows === 0) return;
    state.previous = windows === 1 ? state.current : 0;
    state.current = 0;
    if (state.lease !== undefined) delete state.lease;
    state.startUs = windows === 1 ? state.startUs + shape.periodUs : nowUs;
  },

  fits: (state, shape, cost) => cost === 0 || estimate(state, shape) + cost <= shape.limit,

  charge(state, _shape, cost) {
    state.current += cost;
  },

  /** A refund is of the newest tokens first, but for what is out on lease and may still be spent. */
  adjust(state, shape, tokens) {
    if (tokens > 0) {
      const fromCurrent = Math.min(tokens, state.current - (state.lease?.tokens ?? 0));
      state.current -= fromCurrent;
      state.previous = Math.max(0, state.previous - (tokens - fromCurrent));
    } else {
      const most = 2 * shape.limit - carriedOver(state, shape);
      state.current = Math.max(state.current, Math.min(state.current - tokens, most));
    }
  },

  reset(state) {
    state.previous = 0;
    state.current = state.lease?.tokens ?? 0;
  },

  waitUs(state, shape, cost, nowUs) {
    if (slidingWindowCounter.fits(state, shape, cost)) return 0;
    if (cost > shape.limit) return Number.POSITIVE_INFINITY;
    const { startUs, previous, current } = state;
    const room = shape.limit - cost;
    // The longest overlap under which the estimate leaves room: with the window before this one, or of this one with the next.
    if (current <= room)
      return startUs + shape.periodUs - quotientDown(room - current, shape.periodUs, previous) - nowUs;
    return startUs + 2 * shape.periodUs - quotientDown(room, shape.periodUs, current) - nowUs;
  },

  remaining: (state, shape) => Math.max(0, shape.limit - estimate(state, shape)),

  expiryMs: (state, shape, nowUs) => Math.ceil((state.startUs + 2 * shape.periodUs - nowUs) / 1000) + 1,

  capacity: (shape) => shape.limit,
};

function estimate(state: SlidingWindowCounterState, shape: SlidingWindowCounterShape): number {
  return state.current + carriedOver(state, shape);
}

/** What the previous window still counts for. */
function carriedOver(
  { startUs, previous, nowUs }: SlidingWindowCounterState,
  { periodUs }: SlidingWindowCounterShape,
): number {
  return previous === 0 ? 0 : quotientUp(previous, startUs + periodUs - nowUs, periodUs);
}
