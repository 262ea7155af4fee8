// What does the limit of a Fastify service cost a request, where a lease or a remembered refusal answers, beside no limit at all
// and beside peers?
import { FreshService, type ServiceRound } from "../contestants/fresh-service.ts";
import type { HttpServerKind } from "../contestants/http-messages.ts";
import { HttpService } from "../contestants/http-service.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { type Contestant, Disqualified, type Heat, type Question, type Sample } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const CONNECTIONS = 16;
const BOUNDLESS = 1_000_000_000;
const CHECKED_LIMIT = 5;
const CHECKED_ASKS = 8;
/** So little that all but the first request are far over it. */
const EXHAUSTED = 1;
/** The part of all decisions that local state has to make. */
const LEAST_LOCAL = 0.95;
/** To what does the same by hand. Medians of two runs differ by 0.07, and a limit has to be decided by something. */
const NEAR = 1.15;

const OURS: HttpServerKind = "spillway";
const REFUSING = "spillway, refusing";
const BARE: HttpServerKind = "bare";
const BARE_WITH_HEADERS: HttpServerKind = "bareWithHeaders";
const FLOOR: HttpServerKind = "floor";
const UNLIMITED: readonly HttpServerKind[] = [BARE, BARE_WITH_HEADERS];
const CONSTANT_REFUSAL: HttpServerKind = "constant 429";
const IN_MEMORY: HttpServerKind = "@fastify/rate-limit memory";
const IN_MEMORY_REFUSING = `${IN_MEMORY}, refusing`;
const PEERS: readonly HttpServerKind[] = [IN_MEMORY, "@fastify/rate-limit", "rate-limiter-flexible"];

export const http: Question = {
  name: "http",
  asks: "the CPU time that a limited Fastify service needs for a request",
  heats: (bench) => [() => heatOf(bench)],
};

interface Bench {
  readonly redis: BenchRedis;
  readonly isQuick: boolean;
}

async function heatOf(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  const own: Bench = { redis, isQuick: bench.quick };
  const cost = { unit: "CPU us/request", better: "less", value: cpuUsEach } as const;
  return {
    contestants: [
      ...[OURS, ...UNLIMITED, FLOOR, ...PEERS].map((kind) => admitting(own, kind)),
      refusing(own, OURS, REFUSING),
      refusing(own, CONSTANT_REFUSAL, CONSTANT_REFUSAL),
      refusing(own, IN_MEMORY, IN_MEMORY_REFUSING),
    ],
    cases: [
      {
        ...{ ...cost, name: "http", ours: OURS, peers: [...UNLIMITED, FLOOR, ...PEERS] },
        marks: [
          { peer: BARE, atMost: 1 / 0.85 },
          { peer: BARE_WITH_HEADERS, atMost: NEAR },
          { peer: FLOOR, atMost: NEAR },
        ],
      },
      {
        ...{ ...cost, name: "http/refused", ours: REFUSING, peers: [BARE, CONSTANT_REFUSAL, IN_MEMORY_REFUSING] },
        marks: [
          { peer: BARE, atMost: 1 / 0.8 },
          { peer: IN_MEMORY_REFUSING, atMost: 0.95 },
        ],
      },
    ],
  };
}

function admitting(bench: Bench, kind: HttpServerKind): Contestant {
  return service(bench, kind, kind, BOUNDLESS, ({ admitted, refused, local }) => {
    if (refused > 0) throw new Disqualified(`it refused ${refused} requests within the limit`);
    if (local !== undefined && local.leased < admitted * LEAST_LOCAL)
      throw new Disqualified(`of ${admitted} requests only ${local.leased} met a lease`);
    return admitted;
  });
}

/** One key far over its limit. */
function refusing(bench: Bench, kind: HttpServerKind, name: string): Contestant {
  return service(bench, kind, name, EXHAUSTED, ({ admitted, refused, local }) => {
    if (admitted > 1) throw new Disqualified(`it admitted ${admitted} requests over the limit`);
    if (local !== undefined && local.denied < refused * LEAST_LOCAL)
      throw new Disqualified(`of ${refused} refusals only ${local.denied} were answered from memory`);
    return refused;
  });
}

/** @param judge gives how many requests count. @throws Disqualified */
function service(
  { redis, isQuick }: Bench,
  kind: HttpServerKind,
  name: string,
  limit: number,
  judge: (round: ServiceRound) => number,
): Contestant {
  const start = (): Promise<HttpService> => HttpService.start(kind, redis.url, limit);
  const fresh = new FreshService({ start, connections: CONNECTIONS, isQuick });
  return {
    name,
    check: () => checked(redis, kind),
    prepare: (round) => fresh.prepare(round),
    async run(round) {
      const done = await fresh.run(round);
      return { operations: judge(done), wallMs: done.wallMs, cpuMs: done.cpuMs };
    },
    close: () => fresh.close(),
  };
}

async function checked(redis: BenchRedis, kind: HttpServerKind): Promise<string | undefined> {
  await redis.flush();
  const serving = await HttpService.start(kind, redis.url, CHECKED_LIMIT);
  try {
    const admitted = await serving.admittedOf(CHECKED_ASKS);
    const right = kind === CONSTANT_REFUSAL ? 0 : UNLIMITED.includes(kind) ? CHECKED_ASKS : CHECKED_LIMIT;
    return admitted === right ? undefined : `it admitted ${admitted} of ${CHECKED_ASKS}; the limit is ${right}`;
  } finally {
    await serving.close();
    await redis.flush();
  }
}

function cpuUsEach({ cpuMs, operations }: Sample): number {
  return (cpuMs * 1000) / operations;
}
