// What does each way of counting cost, in the server and in a service, beside the token bucket and beside a library that has
// several of them too?
import { withHeldLog } from "../contestants/held-log.ts";
import { checkLimit, type RedisLimiter, type RedisLimiterKind } from "../contestants/redis-limiter.ts";
import { CONNECTIONS, scriptContestant } from "../contestants/script-load.ts";
import { spillwayCounting } from "../contestants/spillway-redis.ts";
import { keysOf, policyOf, type ScriptCall, spillwayCommands } from "../contestants/spillway-script.ts";
import {
  type UpstashAlgorithm,
  upstashCommands,
  upstashRatelimit,
  upstashScript,
} from "../contestants/upstash-ratelimit.ts";
import type { BenchRedis } from "../harness/bench-redis.ts";
import { closedLoop, eachOnce } from "../harness/closed-loop.ts";
import { type Internals, loadInternals } from "../harness/internals.ts";
import {
  type CaseDefinition,
  type Contestant,
  Disqualified,
  type Heat,
  perSecond,
  type Question,
  type Sample,
} from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const BUCKET = "token-bucket";
/** Tokens that a log holds, each of an instant of its own, when a round begins. */
const HELD = [100, 1000, 9000];
const CALLS: readonly (ScriptCall & { readonly held?: number; readonly peer?: UpstashAlgorithm })[] = [
  { name: BUCKET, keys: 1, policies: [BUCKET], isLeased: false, peer: "tokenBucket" },
  { name: "fixed-window", keys: 1, policies: ["fixed-window"], isLeased: false, peer: "fixedWindow" },
  {
    name: "sliding-window-counter",
    keys: 1,
    policies: ["sliding-window-counter"],
    isLeased: false,
    peer: "slidingWindow",
  },
  ...HELD.map((held) => ({
    name: `sliding-window-log of ${held}`,
    keys: 1,
    policies: ["sliding-window-log"] as const,
    isLeased: false,
    held,
  })),
];
const PEERS: readonly UpstashAlgorithm[] = ["tokenBucket", "fixedWindow", "slidingWindow"];
const PEER_LIMIT = 1_000_000_000;
const KEYS_PER_CONNECTION = 64;

const KEYS = 5000;
const CALLERS = 64;

export const algorithms: Question = {
  name: "algorithms",
  asks: "what each way of counting costs: the script alone, then decisions of one process about many keys",
  heats: (bench) => [() => scriptHeat(bench), () => decisionHeat(bench)],
};

async function scriptHeat(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  const internals = await loadInternals();
  await redis.flush();
  const ours = CALLS.map((call) => scriptOf(redis, internals, call));
  const theirs = await Promise.all(PEERS.map((algorithm) => peerScriptOf(redis, algorithm)));
  return {
    contestants: [...ours, ...theirs],
    counters: () => redis.counters(),
    cases: CALLS.flatMap(({ name, peer }) => {
      const peers = [...(name === BUCKET ? [] : [BUCKET]), ...(peer === undefined ? [] : [`upstash ${peer}`])];
      return [
        caseOf(`algorithms/script/${name}/throughput`, "calls/s", "more", name, peers, perSecond),
        caseOf(`algorithms/script/${name}/server-time`, "us/call", "less", name, peers, serverUs),
      ];
    }),
  };
}

function scriptOf(redis: BenchRedis, internals: Internals, call: (typeof CALLS)[number]): Contestant {
  const commands = spillwayCommands(internals, call);
  const contestant = scriptContestant(call.name, redis, internals.take.text, 1, commands);
  if (call.held === undefined) return contestant;
  const policy = policyOf(internals, call, "sliding-window-log", 0);
  return withHeldLog(contestant, redis, internals, policy, keysOf(call, CONNECTIONS), call.held);
}

async function peerScriptOf(redis: BenchRedis, algorithm: UpstashAlgorithm): Promise<Contestant> {
  const commands = await upstashCommands(algorithm, redis, PEER_LIMIT, CONNECTIONS, KEYS_PER_CONNECTION);
  return scriptContestant(`upstash ${algorithm}`, redis, await upstashScript(algorithm), 1, commands);
}

async function decisionHeat(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  const ours = ["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const;
  const peers: Readonly<Record<(typeof ours)[number], UpstashAlgorithm | undefined>> = {
    "token-bucket": "tokenBucket",
    "fixed-window": "fixedWindow",
    "sliding-window-counter": "slidingWindow",
    "sliding-window-log": undefined,
  };
  const kinds = [...ours.map(spillwayCounting), ...PEERS.map(upstashRatelimit)];
  return {
    contestants: kinds.map((kind) => decisions(kind, redis)),
    cases: ours.map((algorithm) => {
      const beside = [
        ...(algorithm === BUCKET ? [] : [`spillway ${BUCKET}`]),
        ...(peers[algorithm] === undefined ? [] : [`upstash ${peers[algorithm]}`]),
      ];
      const name = `algorithms/decisions/${algorithm}`;
      return caseOf(name, "decisions/s", "more", `spillway ${algorithm}`, beside, perSecond);
    }),
  };
}

/** Twice about each key, in turn, so that half of the decisions meet a bucket that is there. */
function decisions(kind: RedisLimiterKind, redis: BenchRedis): Contestant {
  let limiter: RedisLimiter | undefined;
  let keys: string[] = [];
  return {
    name: kind.name,
    check: () => checkLimit(kind, redis),
    async prepare({ number }) {
      await redis.flush();
      limiter ??= await kind.open(redis, 1000);
      keys = Array.from({ length: 2 * KEYS }, (_, i) => `customer:${number}:${i % KEYS}`);
    },
    async run() {
      const { decide, fault } = limiter as RedisLimiter;
      const { refused } = await closedLoop(CALLERS, decide, eachOnce(keys));
      if (refused > 0) throw new Disqualified(`it refused ${refused} requests within the limit`);
      const reason = fault?.();
      if (reason !== undefined) throw new Disqualified(reason);
      return { operations: keys.length };
    },
    close: async () => limiter?.close(),
  };
}

function caseOf(
  name: string,
  unit: string,
  better: CaseDefinition["better"],
  ours: string,
  peers: readonly string[],
  value: CaseDefinition["value"],
): CaseDefinition {
  return { name, unit, better, ours, peers, value };
}

/** As the server counts it: the time inside the script, without the protocol. */
function serverUs({ counted, operations }: Sample): number {
  return (counted.scriptUs ?? 0) / operations;
}
