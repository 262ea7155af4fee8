import type { Decision } from "../../decision.ts";
import { Backstop, type BackstopBucket, type BackstopStart } from "../../failover/backstop.ts";
import type { PolicyOptions, StoreFailureMode } from "../../policy.ts";
import { type PolicySet, policyResolver } from "../../policy-set.ts";

export const BUCKET: PolicyOptions = { name: "bucket", limit: 100, period: "1s", burst: 20 };
export const WINDOW: PolicyOptions = { name: "window", limit: 60, period: "1m", algorithm: "fixed-window" };

export const NEVER_MS: number = Number.NEGATIVE_INFINITY;
/** Every store has been away since then, and no lease is alive. */
const AWAY: BackstopStart = { decidedMs: NEVER_MS, view: undefined, awaySinceMs: 0, leaseMs: 0, withheldMs: 0 };

/** One process's backstop for one key; times are from its start. */
export class BackstopProcess {
  readonly backstop: Backstop;
  readonly set: PolicySet;
  readonly #start: BackstopStart;
  #buckets: BackstopBucket[] | undefined;
  share: number;

  constructor(
    policies: PolicyOptions | PolicyOptions[],
    share = 1,
    mode: StoreFailureMode = "backstop",
    start: Partial<BackstopStart> = {},
  ) {
    this.share = share;
    this.backstop = new Backstop(() => this.share, mode);
    this.set = policyResolver(policies)("key");
    this.#start = { ...AWAY, ...start };
  }

  buckets(us: number): BackstopBucket[] {
    this.#buckets ??= this.set.policies.map((policy, i) =>
      this.backstop.open("key", policy, i, this.#start, us / 1000),
    );
    return this.#buckets;
  }

  ask(us: number, ...costs: number[]): Decision {
    return this.backstop.decide("key", costs, this.buckets(us), this.#start.awaySinceMs, us);
  }

  hold(us: number, ...costs: number[]): Decision | undefined {
    return this.backstop.hold("key", costs, this.buckets(us), this.#start.awaySinceMs, us);
  }

  owed(us: number, unnoticedMs = 0): number[] {
    const { awaySinceMs } = this.#start;
    return this.buckets(us).map((bucket) => this.backstop.takeOwed(bucket, awaySinceMs, unnoticedMs, us));
  }

  /** Tokens that go in when everything is taken at once, at each time. */
  drain(times: readonly number[], cost = 1): number {
    let admitted = 0;
    for (const us of times) while (this.ask(us, cost).allowed) admitted += cost;
    return admitted;
  }
}
