// What does the limit of a Fastify service cost a request, where a lease answers, beside no limit at all and beside peers?
import type { HttpServerKind } from "../contestants/http-messages.ts";
import { HttpService } from "../contestants/http-service.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { type Contestant, Disqualified, type Heat, type Question, type Sample } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const CONNECTIONS = 16;
const BOUNDLESS = 1_000_000_000;
const CHECKED_LIMIT = 5;
const CHECKED_ASKS = 8;
/** The part of all decisions that leases have to make. */
const LEAST_LEASED = 0.95;

const OURS: HttpServerKind = "spillway";
const FLOORS: readonly HttpServerKind[] = ["bare", "bareWithHeaders"];
const PEERS: readonly HttpServerKind[] = ["@fastify/rate-limit", "rate-limiter-flexible"];

export const http: Question = {
  name: "http",
  asks: "the CPU time that a limited Fastify service needs for a request",
  heats: (bench) => [() => heatOf(bench)],
};

async function heatOf(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  await redis.flush();
  return {
    contestants: [OURS, ...FLOORS, ...PEERS].map((kind) => service(redis, kind)),
    cases: [
      {
        ...{ name: "http", unit: "CPU us/request", better: "less", value: cpuUsEach },
        ...{ ours: OURS, peers: [...FLOORS, ...PEERS] },
      },
    ],
  };
}

function service(redis: BenchRedis, kind: HttpServerKind): Contestant {
  let running: HttpService | undefined;
  return {
    name: kind,
    check: () => checked(redis, kind),
    async prepare() {
      running ??= await HttpService.start(kind, redis.url, BOUNDLESS);
      await running.load(CONNECTIONS, 20);
    },
    async run({ ms }) {
      const serving = running as HttpService;
      const before = await serving.usage();
      const startedMs = performance.now();
      const { admitted, refused } = await serving.load(CONNECTIONS, ms);
      const wallMs = performance.now() - startedMs;
      const after = await serving.usage();
      if (refused > 0) throw new Disqualified(`it refused ${refused} requests within the limit`);
      if (after.leased !== undefined && after.leased - (before.leased ?? 0) < admitted * LEAST_LEASED)
        throw new Disqualified(`of ${admitted} requests only ${after.leased - (before.leased ?? 0)} met a lease`);
      return { operations: admitted, wallMs, cpuMs: after.cpuMs - before.cpuMs };
    },
    close: async () => running?.close(),
  };
}

async function checked(redis: BenchRedis, kind: HttpServerKind): Promise<string | undefined> {
  await redis.flush();
  const serving = await HttpService.start(kind, redis.url, CHECKED_LIMIT);
  try {
    const admitted = await serving.admittedOf(CHECKED_ASKS);
    const right = FLOORS.includes(kind) ? CHECKED_ASKS : CHECKED_LIMIT;
    return admitted === right ? undefined : `it admitted ${admitted} of ${CHECKED_ASKS}; the limit is ${right}`;
  } finally {
    await serving.close();
    await redis.flush();
  }
}

function cpuUsEach({ cpuMs, operations }: Sample): number {
  return (cpuMs * 1000) / operations;
}
