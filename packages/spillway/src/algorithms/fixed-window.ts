import type { Algorithm } from "./bucket.ts";
import type { LeasableWindow } from "./window-lease.ts";

/** A fixed window policy as integers. */
export interface FixedWindowShape {
  readonly kind: "fixed-window";
  readonly limit: number;
  readonly periodUs: number;
  /** Whether windows start at multiples of the period since 1970, or at the first request of each. */
  readonly aligned: boolean;
}

/** One window of one key. */
export interface FixedWindowState extends LeasableWindow {
  readonly kind: "fixed-window";
  startUs: number;
  used: number;
}

/**
 * The fixed window: a count that starts afresh. Simple to explain and to bill by, and it lets up to twice the limit through
 * around an edge. `lua/lib/fixed-window.lua` computes the same; the model tests hold the two together.
 */
export const fixedWindow: Algorithm<FixedWindowShape, FixedWindowState> = {
  open: (shape, nowUs) => ({ kind: "fixed-window", startUs: startOf(shape, nowUs), used: 0 }),

  copy: (state) => (state.lease === undefined ? { ...state } : { ...state, lease: { ...state.lease } }),

  advance(state, shape, nowUs) {
    // What is out on lease ends with a window that lasts as long as the one it was taken from.
    if (state.startUs > nowUs) state.startUs = state.lease === undefined ? startOf(shape, nowUs) : nowUs;
    if (nowUs - state.startUs >= shape.periodUs) {
      state.startUs = startOf(shape, nowUs);
      state.used = 0;
      if (state.lease !== undefined) delete state.lease;
    }
  },

  fits: (state, shape, cost) => cost === 0 || state.used + cost <= shape.limit,

  charge(state, _shape, cost) {
    state.used += cost;
  },

  /** What is out on lease may still be spent: a refund never takes it off. */
  adjust(state, shape, tokens) {
    const leased = state.lease?.tokens ?? 0;
    if (tokens > 0) state.used = Math.max(leased, state.used - tokens);
    else state.used = Math.max(state.used, Math.min(state.used - tokens, 2 * shape.limit));
  },

  reset(state) {
    state.used = state.lease?.tokens ?? 0;
  },

  waitUs(state, shape, cost, nowUs) {
    if (fixedWindow.fits(state, shape, cost)) return 0;
    return cost > shape.limit ? Number.POSITIVE_INFINITY : state.startUs + shape.periodUs - nowUs;
  },

  remaining: (state, shape) => Math.max(0, shape.limit - state.used),

  expiryMs: (state, shape, nowUs) => Math.ceil((state.startUs + shape.periodUs - nowUs) / 1000) + 1,

  capacity: (shape) => shape.limit,
};

function startOf(shape: FixedWindowShape, nowUs: number): number {
  return shape.aligned ? nowUs - (nowUs % shape.periodUs) : nowUs;
}
