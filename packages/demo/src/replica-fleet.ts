import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "./fleet.ts";

const FOUND_WITHIN_MS = 60_000;
const TRY_EVERY_MS = 500;
const ANSWER_MS = 5000;

/** Where replicas are. */
export interface ReplicaAddresses {
  /** The load balancer. */
  readonly balancer: URL;
  /** A host name that stands for the addresses of all replicas, and their port. */
  readonly replicas: URL;
}

/** Replicas behind a load balancer. Each of them is asked for its name, past the balancer. */
export class ReplicaFleet implements Fleet {
  readonly names: readonly string[];
  readonly #balancer: URL;

  private constructor(balancer: URL, names: readonly string[]) {
    this.#balancer = balancer;
    this.names = names;
  }

  /**
   * Looks the replicas up until `count` of them answer.
   * @throws Error that says how many answered.
   */
  static async find(addresses: ReplicaAddresses, count: number, signal: AbortSignal): Promise<ReplicaFleet> {
    const untilMs = performance.now() + FOUND_WITHIN_MS;
    for (;;) {
      const bases = await basesOf(addresses.replicas);
      const answers = await Promise.allSettled(bases.map(askName));
      const names = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
      if (new Set(names).size === count && bases.length === count) return new ReplicaFleet(addresses.balancer, names);
      if (performance.now() > untilMs)
        throw new Error(
          `Expected ${count} replicas at ${addresses.replicas.host}, of ${bases.length} there ${names.length} answer.`,
        );
      await sleep(TRY_EVERY_MS, undefined, { signal });
    }
  }

  urlOf(mode: string): string {
    return new URL(mode, this.#balancer).href;
  }
}

/** The address of each replica behind the name. */
async function basesOf(replicas: URL): Promise<URL[]> {
  const found = await lookup(replicas.hostname, { all: true, family: 4 }).catch(() => []);
  return found.map(({ address }) => {
    const base = new URL(replicas);
    base.hostname = address;
    return base;
  });
}

async function askName(base: URL): Promise<string> {
  const response = await fetch(new URL("/health", base), { signal: AbortSignal.timeout(ANSWER_MS) });
  if (!response.ok) throw new Error(`The replica at ${base.host} answers ${response.status}.`);
  return ((await response.json()) as { readonly worker: string }).worker;
}
