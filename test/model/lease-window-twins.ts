import { algorithmOf } from "../../packages/spillway/src/algorithms/bucket.ts";
import { fixedWindow } from "../../packages/spillway/src/algorithms/fixed-window.ts";
import {
  type LeasableWindowShape,
  type LeasableWindowState,
  settleWindowLease,
} from "../../packages/spillway/src/algorithms/window-lease.ts";
import type { StoreRules } from "./lease-rules.ts";
import type { LeasedAlgorithm, SetupOptions } from "./lease-setups.ts";
import type { HolderTwins } from "./lease-steps.ts";

/** As `LeaseTwin`, of windows. */
export interface WindowTwin {
  readonly mistake: string;
  readonly rules?: Partial<StoreRules<LeasableWindowShape, LeasableWindowState>>;
  readonly holders?: () => HolderTwins;
  readonly setups: SetupOptions;
}

function adverse(algorithm: LeasedAlgorithm, options: SetupOptions = {}): SetupOptions {
  return { kinds: ["adverse"], flapping: false, algorithms: [algorithm], ...options };
}

export const WINDOW_TWINS: readonly WindowTwin[] = (["fixed-window", "sliding-window-counter"] as const).flatMap(
  (kind): WindowTwin[] => [
    {
      mistake: `16: what is leased of a ${kind} outlives it`,
      holders: () => ({ outlivesWindows: true }),
      setups: adverse(kind),
    },
    {
      mistake: `16: what comes back to a ${kind} is taken off whatever is on lease of it`,
      rules: {
        settle: {
          beforeRefill: false,
          run(state, shape, { settled, returned }) {
            settleWindowLease(state, shape, state.lease?.id ?? 0, settled, returned);
          },
        },
      },
      setups: adverse(kind),
    },
    {
      mistake: `a refund takes off what is on lease of a ${kind}`,
      rules: {
        adjust(state, shape, tokens) {
          const { lease } = state;
          delete state.lease;
          algorithmOf(shape).adjust(state, shape, tokens);
          const used = state.kind === "fixed-window" ? state.used : state.current;
          if (lease !== undefined && used > 0) state.lease = { ...lease, tokens: Math.min(lease.tokens, used) };
        },
      },
      setups: adverse(kind, { often: ["refund"] }),
    },
    {
      mistake: `a reset of a ${kind} forgets what is on lease`,
      rules: {
        reset(state, shape) {
          delete state.lease;
          algorithmOf(shape).reset(state, shape);
        },
      },
      setups: adverse(kind, { often: ["reset"] }),
    },
    {
      mistake: `what is leased of a ${kind} is charged when it is settled`,
      rules: {
        grant(state, shape, { wish }, nowUs) {
          const tokens = Math.min(wish, Math.floor(algorithmOf(shape).remaining(state, shape) / 4));
          return { id: tokens > 0 ? nowUs : 0, tokens, contended: false };
        },
        settle: {
          beforeRefill: false,
          run: (state, shape, { settled, returned }) => algorithmOf(shape).charge(state, shape, settled - returned),
        },
      },
      setups: adverse(kind),
    },
  ],
);

/** Of windows that alternate between two periods. */
export const PERIOD_TWINS: readonly WindowTwin[] = (["fixed-window", "sliding-window-counter"] as const).flatMap(
  (kind): WindowTwin[] => [
    {
      mistake: `what was on lease of a ${kind} that a shorter period ended is settled in the next one`,
      rules: {
        advance(state, shape, nowUs) {
          const { lease, startUs } = state;
          algorithmOf(shape).advance(state, shape, nowUs);
          if (lease === undefined || state.startUs === startUs) return;
          state.lease = lease;
          algorithmOf(shape).charge(state, shape, lease.tokens);
        },
      },
      setups: alternating(kind, { without: ["reset"] }),
    },
    {
      mistake: `tokens of a ${kind} are spent for as long as was asked, whichever policy ends it`,
      holders: () => ({ outlivesWindows: true }),
      setups: alternating(kind),
    },
    {
      mistake: `a ${kind} under another period than it began with begins anew`,
      rules: {
        advance(state, shape, nowUs, before) {
          const isChanged = before.periodUs !== shape.periodUs;
          if (isChanged) Object.assign(state, algorithmOf(shape).open(shape, nowUs));
          if (isChanged) delete state.lease;
          algorithmOf(shape).advance(state, shape, nowUs);
        },
      },
      setups: alternating(kind),
    },
  ],
);

function alternating(algorithm: LeasedAlgorithm, options: SetupOptions = {}): SetupOptions {
  return { kinds: ["adverse"], flapping: true, periods: true, algorithms: [algorithm], ...options };
}

/** Only a window that is aligned to the clock can end sooner than the one that it is the restart of. */
export const ALIGNED_TWIN: WindowTwin = {
  mistake: "a window with tokens on lease that is pulled back to the clock ends with the clock's window",
  rules: {
    advance(state, shape, nowUs) {
      const { lease } = state;
      const isAhead = state.startUs > nowUs;
      if (isAhead && state.kind === "fixed-window") {
        delete state.lease;
        fixedWindow.advance(state, shape as Parameters<typeof fixedWindow.advance>[1], nowUs);
        if (lease !== undefined) state.lease = lease;
      } else algorithmOf(shape).advance(state, shape, nowUs);
    },
  },
  setups: adverse("fixed-window", { often: ["storeClockBack"] }),
};
