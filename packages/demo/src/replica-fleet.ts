import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type DecisionRecord, sumRecords } from "./decision-recorder.ts";
import type { Fleet } from "./fleet.ts";
import type { DecisionFigures } from "./measure.ts";

const FOUND_WITHIN_MS = 60_000;
const TRY_EVERY_MS = 500;
const ANSWER_MS = 5000;

/** What a replica answers at `/decisions/<mode>`. */
interface ReplicaRecord {
  readonly worker: string;
  readonly record: DecisionRecord;
}

/** Where replicas are. */
export interface ReplicaAddresses {
  /** The load balancer. */
  readonly balancer: URL;
  /** A host name that stands for the addresses of all replicas, and their port. */
  readonly replicas: URL;
}

/** Replicas behind a load balancer. Their decisions are asked of each of them, past the balancer. */
export class ReplicaFleet implements Fleet {
  readonly names: readonly string[];
  readonly #balancer: URL;
  readonly #bases: readonly URL[];

  private constructor(balancer: URL, bases: readonly URL[], names: readonly string[]) {
    this.#balancer = balancer;
    this.#bases = bases;
    this.names = names;
  }

  /**
   * Looks the replicas up until `count` of them answer.
   * @throws Error that says how many answered.
   */
  static async find(
    addresses: ReplicaAddresses,
    count: number,
    mode: string,
    signal: AbortSignal,
  ): Promise<ReplicaFleet> {
    const untilMs = performance.now() + FOUND_WITHIN_MS;
    for (;;) {
      const bases = await basesOf(addresses.replicas);
      const answers = await Promise.allSettled(bases.map((base) => askRecord(base, mode)));
      const names = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.worker] : []));
      if (new Set(names).size === count && bases.length === count)
        return new ReplicaFleet(addresses.balancer, bases, names);
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

  async collect(mode: string): Promise<DecisionFigures> {
    const answers = await Promise.all(this.#bases.map((base) => askRecord(base, mode)));
    return sumRecords(answers.map((answer) => answer.record));
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

async function askRecord(base: URL, mode: string): Promise<ReplicaRecord> {
  const response = await fetch(new URL(`/decisions/${mode}`, base), { signal: AbortSignal.timeout(ANSWER_MS) });
  if (!response.ok) throw new Error(`The replica at ${base.host} answers ${response.status}.`);
  return (await response.json()) as ReplicaRecord;
}
