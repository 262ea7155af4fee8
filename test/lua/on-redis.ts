import type { Redis } from "ioredis";
import { type Policy, type PolicyOptions, resolvePolicy } from "../../packages/spillway/src/policy.ts";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import { decodeTake } from "../../packages/spillway/src/stores/redis/reply-decoding.ts";
import { adjust, allotShares, peek, reset, take } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import {
  encodeAddresses,
  encodeAdjustments,
  encodeTake,
} from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import type { LeaseReport, TakeCall } from "../../packages/spillway/src/stores/store.ts";

export const SCRIPTS = [take, peek, adjust, reset, allotShares] as const;
export const PREFIX = "lua";

export function policyOf(options: PolicyOptions): Policy {
  return resolvePolicy(options, "policy");
}

export const TOKENS: Policy = policyOf({ name: "tokens", limit: 10, period: "1m" });
/** Another one, so that calls can be about token buckets only. */
export const MORE: Policy = policyOf({ name: "more", limit: 10, period: "1m" });
/** Level units of a token of either. */
export const TOKEN = 6_000_000;
export const WINDOW: Policy = policyOf({ name: "window", limit: 10, period: "1m", algorithm: "fixed-window" });
export const ALIGNED: Policy = policyOf({
  name: "aligned",
  limit: 10,
  period: "1h",
  algorithm: "fixed-window",
  windowStart: "aligned",
});
export const COUNTER: Policy = policyOf({
  name: "counter",
  limit: 10,
  period: "1m",
  algorithm: "sliding-window-counter",
});
export const LOG: Policy = policyOf({ name: "log", limit: 10, period: "1m", algorithm: "sliding-window-log" });
export const EACH: readonly Policy[] = [TOKENS, WINDOW, ALIGNED, COUNTER, LOG];

export function keyOf(policy: Policy, key = "k"): string {
  return bucketKey(PREFIX, { key, policy });
}

/** One run of asks of one cost on the buckets of one key; none for a count of 0. */
function callOf(
  policies: readonly Policy[],
  cost: number,
  count: number,
  key: string,
  report: LeaseReport | undefined,
): TakeCall {
  return {
    buckets: policies.map((policy) => ({ key, policy, report })),
    runs: count === 0 ? [] : [{ count, charges: policies.map((_, bucket) => ({ bucket, cost })) }],
  };
}

/** Runs shipped scripts and gives the raw replies. */
export class RawScripts {
  readonly #client: Redis;

  constructor(client: Redis) {
    this.#client = client;
  }

  async load(): Promise<void> {
    for (const { text } of SCRIPTS) await this.#client.script("LOAD", text);
  }

  async take(policies: readonly Policy[], cost = 1, count = 1, key = "k", report?: LeaseReport): Promise<number[]> {
    return await this.run(take.sha1, policies, key, encodeTake(callOf(policies, cost, count, key, report)));
  }

  /** The same, but gives how many asks were served. */
  async served(...args: Parameters<RawScripts["take"]>): Promise<number> {
    const [policies, cost = 1, count = 1, key = "k", report] = args;
    const call = callOf(policies, cost, count, key, report);
    const reply = await this.run(take.sha1, policies, key, encodeTake(call));
    return decodeTake(
      reply,
      call,
      policies.map((policy) => keyOf(policy, key)),
    ).served[0] as number;
  }

  async peek(policies: readonly Policy[], key = "k"): Promise<number[]> {
    return await this.run(peek.sha1, policies, key, encodeAddresses(policies.map((policy) => ({ key, policy }))));
  }

  async adjust(policies: readonly Policy[], tokens: number, key = "k"): Promise<number[]> {
    const adjustments = policies.map((policy) => ({ key, policy, tokens }));
    return await this.run(adjust.sha1, policies, key, encodeAdjustments(adjustments));
  }

  async reset(policies: readonly Policy[], key = "k"): Promise<number[]> {
    return await this.run(reset.sha1, policies, key, encodeAddresses(policies.map((policy) => ({ key, policy }))));
  }

  async run(sha1: string, policies: readonly Policy[], key: string, args: readonly string[]): Promise<number[]> {
    const keys = policies.map((policy) => keyOf(policy, key));
    return (await this.#client.evalsha(sha1, keys.length, ...keys, ...args)) as number[];
  }
}

/** A report of a lease holder that wishes `wish` tokens for `lifeUs`. */
export function wishOf(wish: number, lifeUs: number): LeaseReport {
  return { wish, lifeUs, demand: wish, weight: wish, settlements: [] };
}
