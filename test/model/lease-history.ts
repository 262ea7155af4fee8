import { type Policy, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import type { Settlement, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { Meter } from "./lease-meter.ts";
import type { StoreRules } from "./lease-rules.ts";
import { LeaseStore, shapeOf } from "./lease-store.ts";

const START_US = 1_791_187_200_123_456;
const MS = 1000;

export interface HistoryPolicy {
  readonly burst: number;
  /** Milliseconds that one token takes; 1 when left out. */
  readonly perMs?: number;
}

/** A few steps on one bucket, written out by hand, with a meter on what is admitted. */
export class History {
  readonly #store: LeaseStore;
  readonly #policies: readonly Policy[];
  readonly #meter: Meter;
  #policy: Policy;
  #nowUs = 0;
  #most = 0;

  /** @param policies the bucket is under the first until `under` says otherwise. */
  constructor(rules: StoreRules, policies: readonly HistoryPolicy[]) {
    this.#store = new LeaseStore(rules, { onWrite: () => {} });
    this.#policies = policies.map(({ burst, perMs = 1 }) =>
      resolvePolicy({ name: "bucket", limit: 1, period: perMs, burst }, "policy"),
    );
    this.#policy = this.#policies[0] as Policy;
    this.#meter = new Meter(this.#policies.map((policy) => shapeOf({ key: "k", policy })));
  }

  /** Tokens above burst + rate x time in the worst window so far. */
  get over(): number {
    return Math.max(0, this.#most - this.#meter.capacity) / this.#meter.unitsPerToken;
  }

  under(index: number): void {
    this.#policy = this.#policies[index] as Policy;
  }

  pass(ms: number): void {
    this.#nowUs += Math.round(ms * MS);
  }

  /** Leases exactly `tokens`, which may not be more than half of what is there. */
  lease(tokens: number, lifeMs: number): number {
    const report = { wish: tokens, lifeUs: lifeMs * MS, demand: 0, weight: 0, settlements: [] };
    const [reading] = this.#take({ report, asks: 0 }).buckets;
    const lease = reading?.kind === "state" ? reading.lease : undefined;
    if (lease?.tokens !== tokens) throw new Error(`${lease?.tokens} leased instead of ${tokens}`);
    return lease.id;
  }

  /** Tokens that the store counts as leased now. */
  get escrow(): number {
    const { older, newer } = this.#store.bucketAt({ key: "k", policy: this.#policy }, this.#storeUs);
    return older.tokens + newer.tokens;
  }

  /** Wishes, and takes what is given. */
  wish(tokens: number, lifeMs: number): void {
    this.#take({ report: { wish: tokens, lifeUs: lifeMs * MS, demand: 0, weight: 0, settlements: [] }, asks: 0 });
  }

  /** Leased tokens are spent. */
  spend(tokens: number): void {
    this.#admit(tokens);
  }

  /** Callers ask for one token each, and tell what was spent in the same call. Returns how many were served. */
  ask(asks: number, settlements: readonly Settlement[] = []): number {
    const report = settlements.length === 0 ? undefined : { wish: 0, lifeUs: MS, demand: 0, weight: 0, settlements };
    const served = this.#take({ report, asks }).served[0] as number;
    this.#admit(served);
    return served;
  }

  report(id: number, settled: number, returned: number): void {
    this.ask(0, [{ id, settled, returned }]);
  }

  penalize(tokens: number): void {
    this.#store.adjust([{ key: "k", policy: this.#policy, tokens: -tokens }], this.#storeUs);
  }

  lose(): void {
    this.#store.lose({ key: "k", policy: this.#policy });
  }

  get #storeUs(): number {
    return START_US + this.#nowUs;
  }

  #take({
    report,
    asks,
  }: {
    report: Parameters<LeaseStore["take"]>[0]["buckets"][number]["report"];
    asks: number;
  }): TakeReply {
    const runs = [{ count: asks, charges: [{ bucket: 0, cost: 1 }] }];
    return this.#store.take({ buckets: [{ key: "k", policy: this.#policy, report }], runs }, this.#storeUs);
  }

  #admit(tokens: number): void {
    this.#meter.passTo(this.#nowUs);
    this.#meter.admit(tokens);
    this.#most = Math.max(this.#most, this.#meter.level);
  }
}
