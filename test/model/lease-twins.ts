import {
  escrowed,
  settleLease,
  type TokenBucketShape,
  type TokenBucketState,
  tokenBucket,
} from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { Instant } from "../../packages/spillway/src/lease/shelf.ts";
import { Shelf } from "../../packages/spillway/src/lease/shelf.ts";
import type { LeaseGrant, LeaseReport, Settlement, TakeCall } from "../../packages/spillway/src/stores/store.ts";
import { SHIPPED_RULES, type StoreRules, settleAsShipped } from "./lease-rules.ts";
import type { SetupOptions } from "./lease-setups.ts";
import type { HolderTwins } from "./lease-steps.ts";

/** Shipped code with one mistake in it, which the property test must find. */
export interface LeaseTwin {
  readonly mistake: string;
  readonly rules?: Partial<StoreRules<TokenBucketShape, TokenBucketState>>;
  readonly holders?: () => HolderTwins;
  /** Runs in which the mistake can show. */
  readonly setups: SetupOptions;
}

const ADVERSE: SetupOptions = { kinds: ["adverse"], flapping: false };
const FLAPPING: SetupOptions = { kinds: ["adverse"], flapping: true, often: ["reconfigure"] };
const SHELVES: SetupOptions = { kinds: ["shelf", "shelf", "adverse"], flapping: false };

/** A grant as it is shipped but for what a twin says of it. */
function grant(
  state: TokenBucketState,
  shape: TokenBucketShape,
  tokens: number,
  lifeUs: number,
  nowUs: number,
  {
    id = (last: number) => Math.max(nowUs, last + 1),
    joins = true,
  }: { id?: (last: number) => number; joins?: boolean },
): LeaseGrant {
  const { older, newer } = state;
  if (tokens === 0) return { id: 0, tokens, contended: false };
  if (older.tokens === 0 || newer.tokens === 0) {
    const last = Math.max(older.id, newer.id);
    if (newer.tokens > 0) Object.assign(older, newer);
    Object.assign(newer, { tokens: 0, id: id(last), deathUs: 0 });
  }
  const others = joins ? Math.max(newer.deathUs, older.tokens > 0 ? older.deathUs : 0) : 0;
  newer.deathUs = Math.max(others, nowUs + lifeUs);
  newer.tokens += tokens;
  state.level -= tokens * shape.unitsPerToken;
  return { id: newer.id, tokens, contended: false };
}

function wished({ wish }: LeaseReport, state: TokenBucketState, shape: TokenBucketShape): number {
  return Math.min(wish, Math.floor(state.level / shape.unitsPerToken));
}

/** Forgets what is dead before it refills. */
function advanceDeadFirst(state: TokenBucketState, shape: TokenBucketShape, nowUs: number): void {
  if (nowUs >= state.timeUs)
    for (const escrow of [state.older, state.newer]) if (escrow.deathUs <= nowUs) escrow.tokens = 0;
  tokenBucket.advance(state, shape, nowUs);
}

function backOf(state: TokenBucketState, nowUs: number): number {
  return Math.max(0, state.timeUs - nowUs);
}

/** A shelf whose every report says the one before it again, as if those tokens were given back. */
class RepeatingShelf extends Shelf {
  #before: readonly Settlement[] = [];

  override takeSettlements(...now: Parameters<Shelf["takeSettlements"]>): Settlement[] {
    const settlements = super.takeSettlements(...now);
    const again = this.#before.map(({ id, settled }) => ({ id, settled, returned: settled }));
    this.#before = settlements;
    return [...settlements, ...again];
  }
}

/** Says each settlement of a call again in the next call. */
function repeatingCalls(): (call: TakeCall) => TakeCall {
  const before = new Map<string, readonly Settlement[]>();
  return (call) => ({
    ...call,
    buckets: call.buckets.map((bucket) => {
      const { report, policy } = bucket;
      if (report === undefined) return bucket;
      const again = before.get(policy.name) ?? [];
      before.set(policy.name, report.settlements);
      return { ...bucket, report: { ...report, settlements: [...report.settlements, ...again] } };
    }),
  });
}

/** The numbers are those of the list of known holes. */
export const LEASE_TWINS: readonly LeaseTwin[] = [
  {
    mistake: "1: leases are settled before the bucket is refilled",
    rules: { settle: { beforeRefill: true, run: settleAsShipped } },
    setups: ADVERSE,
  },
  {
    mistake: "2: a dead escrow is dropped first, and refill counted over the whole gap",
    rules: { advance: advanceDeadFirst },
    setups: ADVERSE,
  },
  {
    mistake: "3: a report is settled against whatever escrow there is",
    rules: {
      settle: {
        beforeRefill: false,
        run(state, shape, { settled, returned }) {
          const older = Math.min(settled, state.older.tokens);
          settleLease(state, shape, state.older.id, older, Math.min(returned, older));
          settleLease(state, shape, state.newer.id, settled - older, Math.max(0, returned - older));
        },
      },
    },
    setups: ADVERSE,
  },
  {
    mistake: "4: a key expires without regard to the life of its escrow",
    rules: {
      expiryMs: (state, shape, nowUs) =>
        tokenBucket.expiryMs(
          { ...state, older: { ...state.older, tokens: 0 }, newer: { ...state.newer, tokens: 0 } },
          shape,
          nowUs,
        ),
    },
    setups: { ...ADVERSE, often: ["waitForExpiry"] },
  },
  {
    mistake: "6: the life of what is leased changes with the policy",
    rules: {
      advance(state, shape, nowUs) {
        const lifeUs = Math.min(shape.fullUs, 100_000);
        for (const escrow of [state.older, state.newer]) escrow.deathUs = Math.min(escrow.deathUs, escrow.id + lifeUs);
        tokenBucket.advance(state, shape, nowUs);
      },
    },
    setups: FLAPPING,
  },
  {
    mistake: "7: a policy with a shorter time to full shortens the life of a bucket that knew a longer one",
    rules: {
      expiryMs: (state, shape, nowUs) => tokenBucket.expiryMs({ ...state, fullUs: shape.fullUs }, shape, nowUs),
    },
    setups: { ...FLAPPING, often: ["reconfigure", "waitForExpiry"] },
  },
  {
    mistake: "7: a level is read in the units of another policy",
    rules: {
      advance(state, shape, nowUs) {
        state.unitsPerToken = shape.unitsPerToken;
        tokenBucket.advance(state, shape, nowUs);
      },
    },
    setups: FLAPPING,
  },
  {
    mistake: "7: a raised burst keeps what was used rather than what is left",
    rules: {
      advance(state, shape, nowUs, before) {
        state.level += Math.max(0, shape.burst - before.burst) * state.unitsPerToken;
        tokenBucket.advance(state, shape, nowUs);
      },
    },
    setups: FLAPPING,
  },
  {
    mistake: "8: deaths stay where they were when the clock goes back",
    rules: {
      advance(state, shape, nowUs) {
        const backUs = backOf(state, nowUs);
        for (const escrow of [state.older, state.newer]) escrow.deathUs += backUs;
        tokenBucket.advance(state, shape, nowUs);
      },
    },
    setups: { ...ADVERSE, often: ["storeClockBack"] },
  },
  {
    mistake: "8: a bucket waits for the clock to come where it was",
    rules: {
      advance(state, shape, nowUs) {
        tokenBucket.advance(state, shape, Math.max(nowUs, state.timeUs));
      },
    },
    setups: { ...ADVERSE, often: ["storeClockBack"] },
  },
  {
    mistake: "8: what is leased is forgotten when the clock goes back",
    rules: {
      advance(state, shape, nowUs) {
        if (nowUs < state.timeUs) for (const escrow of [state.older, state.newer]) escrow.tokens = 0;
        tokenBucket.advance(state, shape, nowUs);
      },
    },
    setups: { ...ADVERSE, often: ["storeClockBack"] },
  },
  {
    mistake: "9: ids count from one, and so repeat when a bucket is lost",
    rules: {
      grant: (state, shape, report, nowUs) =>
        grant(state, shape, Math.max(0, wished(report, state, shape)), report.lifeUs, nowUs, {
          id: (last) => last + 1,
        }),
    },
    setups: { ...ADVERSE, often: ["lose"] },
  },
  {
    mistake: "10: a level below zero is leased",
    rules: {
      grant: (state, shape, report, nowUs) =>
        report.wish === 0
          ? { id: 0, tokens: 0, contended: false }
          : grant(state, shape, Math.max(-escrowed(state), wished(report, state, shape)), report.lifeUs, nowUs, {}),
    },
    setups: { ...ADVERSE, often: ["penalize"] },
  },
  {
    mistake: "the escrow of a lease that joins others dies with it, not with them",
    rules: {
      grant: (state, shape, report, nowUs) =>
        grant(state, shape, Math.max(0, wished(report, state, shape)), report.lifeUs, nowUs, { joins: false }),
    },
    setups: ADVERSE,
  },
  {
    mistake: "11: tokens already reported are given back",
    holders: () => ({ shelf: (counts) => new RepeatingShelf(counts) }),
    setups: SHELVES,
  },
  {
    mistake: "11: the life of a lease is counted from the reply",
    holders: () => ({
      shelf: (counts, clock) =>
        new (class extends Shelf {
          override add(id: number, tokens: number, lifeMs: number): void {
            super.add(id, tokens, lifeMs, clock.instant);
          }
        })(counts),
    }),
    setups: SHELVES,
  },
  {
    mistake: "11: a lease is over by the monotonic clock only",
    holders: () => ({
      shelf: (counts) =>
        new (class extends Shelf {
          override add(id: number, tokens: number, lifeMs: number, sent: Instant): void {
            super.add(id, tokens, lifeMs, { ...sent, wallMs: sent.monotonicMs });
          }
          override spendable(monotonicMs: number): number {
            return super.spendable(monotonicMs, monotonicMs);
          }
        })(counts),
    }),
    setups: { ...SHELVES, often: ["sleep", "wake"] },
  },
  {
    mistake: "11: a whole limiter that looks at the monotonic clock only",
    holders: () => ({ limiter: { monotonicOnly: true } }),
    setups: { kinds: ["limiter"], flapping: false, often: ["sleep", "wake", "stream", "burst"] },
  },
  {
    mistake: "11: a whole limiter that says each report twice",
    holders: () => ({ limiter: { call: repeatingCalls } }),
    setups: { kinds: ["limiter"], flapping: false, often: ["stream", "burst"] },
  },
  {
    mistake: "13: the wait that is told does not know of the escrow",
    rules: {
      waitUs: (state, shape, cost) =>
        Math.max(0, Math.ceil((cost * shape.unitsPerToken - state.level) / shape.unitsPerTick)) * shape.tickUs,
    },
    setups: ADVERSE,
  },
];

/** The shipped rules with a twin's mistake among them. */
export function rulesOf({ rules }: LeaseTwin): StoreRules {
  return { ...SHIPPED_RULES, ...(rules as Partial<StoreRules>) };
}
