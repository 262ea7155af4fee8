import { ALGORITHM_NAMES } from "../algorithms/bucket.ts";
import type { Policy } from "../policy.ts";
import { policyResolver } from "../policy-set.ts";
import { bucketKey, sharesKey } from "../stores/redis/key-layout.ts";
import { redisStore } from "../stores/redis/redis-store.ts";
import { adjust, allotShares, block, peek, reset, take } from "../stores/redis/scripts/generated.ts";
import { encodeBeat, encodeTake } from "../stores/redis/take-encoding.ts";
import type { PeekReply } from "../stores/store.ts";
import type { OpenServer } from "./open-server.ts";
import type { CommandOptions, Report } from "./run-cli.ts";
import { showMs } from "./text-table.ts";

/** What was looked at, how it is, and what to do where it is not as it should be. */
interface Check {
  readonly what: string;
  readonly state: "ok" | "look" | "wrong";
  readonly found: string;
  readonly advice?: string;
}

const OLDEST = [6, 2];
const PINGS = 50;
const KEY = "spillway-doctor";
const EACH_POLICY = policyResolver(
  ALGORITHM_NAMES.map((algorithm) => ({ name: algorithm, limit: 1000, period: 1000, algorithm })),
)(KEY).policies;
const ONE_ASK = { count: 1, charges: [{ bucket: 0, cost: 1 }] };
const MOST_SKEW_MS = 1000;
const SCRIPTS = { take, peek, adjust, block, reset, allotShares };
/** A process that has come and gone. */
const BEAT = { id: "doctor", number: 1, lifeMs: 1000, share: 0, even: 0, demand: 0, replicas: 1, leaves: true };
/** Keeps what is evicted away from buckets that are in use, or evicts nothing. */
const GOOD_EVICTION = ["noeviction", "volatile-ttl"];

/** `spillway doctor`: looks at a server with the eyes of the limiter. */
export async function doctor(server: OpenServer, { prefix }: CommandOptions, deadlineMs: number): Promise<Report> {
  const checks = [
    await version(server),
    await rights(server, prefix),
    await eviction(server),
    await persistence(server),
    await clock(server),
    await scripts(server),
    ...(server.isCluster ? [await slots(server)] : []),
    await roundTrip(server, deadlineMs),
  ];
  const width = Math.max(...checks.map(({ what }) => what.length));
  const lines = checks.flatMap(({ what, state, found, advice }) => [
    `${state.padEnd(5)}  ${what.padEnd(width)}  ${found}`,
    ...(advice === undefined ? [] : [`${" ".repeat(width + 9)}${advice}`]),
  ]);
  return { lines, json: { checks }, isBad: checks.some(({ state }) => state === "wrong") };
}

async function infoOf(server: OpenServer, section: string): Promise<Map<string, string>> {
  const text = String(await server.send(["INFO", section]));
  return new Map(
    text
      .split(/\r?\n/)
      .filter((line) => line.includes(":"))
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}

/** A check that cannot be made, since the server does not let this user look, is no fault. */
async function attempt(what: string, look: () => Promise<Check>): Promise<Check> {
  try {
    return await look();
  } catch (error) {
    return { what, state: "look", found: `cannot be seen: ${error instanceof Error ? error.message : String(error)}` };
  }
}

const version = (server: OpenServer): Promise<Check> =>
  attempt("version", async () => {
    const info = await infoOf(server, "server");
    const valkey = info.get("valkey_version");
    const text = valkey ?? info.get("redis_version") ?? "unknown";
    const [major = 0, minor = 0] = text.split(".").map(Number);
    const isOld =
      valkey === undefined && (major < (OLDEST[0] ?? 0) || (major === OLDEST[0] && minor < (OLDEST[1] ?? 0)));
    const found = `${valkey === undefined ? "Redis" : "Valkey"} ${text}, ${info.get("redis_mode") ?? "standalone"}`;
    if (isOld) return { what: "version", state: "wrong", found, advice: `Update it to ${OLDEST.join(".")} or later.` };
    return { what: "version", state: "ok", found };
  });

/** Runs all scripts as the limiter does, on keys of its own that are gone a moment later. */
async function rights(server: OpenServer, prefix: string): Promise<Check> {
  try {
    await runByTextAndHash(server, prefix);
    await runAll(server, prefix);
    return { what: "rights", state: "ok", found: `the scripts may run on ${prefix}:* and ${prefix}-shares:*` };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    const advice = adviceOn(found, server, prefix);
    return { what: "rights", state: "wrong", found, advice };
  }
}

function adviceOn(found: string, { isCluster }: OpenServer, prefix: string): string {
  if (/\b(MOVED|CLUSTERDOWN)\b/.test(found))
    return isCluster
      ? "Not every slot is served: see the slots below."
      : "This is a node of a Redis Cluster: say so with --cluster.";
  if (/\bREADONLY\b/.test(found)) return "This is a replica: give the address of its primary.";
  if (/\bOOM\b/.test(found)) return "The server is full: raise its maxmemory, or give the limiter a server of its own.";
  return `Give the user what docs/operations.md lists, on ~${prefix}:* and ~${prefix}-shares:*.`;
}

async function runByTextAndHash(server: OpenServer, prefix: string): Promise<void> {
  const bucket = { key: KEY, policy: EACH_POLICY[0] as Policy, report: undefined };
  const args = encodeTake({ buckets: [bucket], runs: [ONE_ASK] });
  const name = bucketKey(prefix, bucket);
  await server.send(["EVAL", take.text, "1", name, ...args]);
  await server.send(["EVALSHA", take.sha1, "1", name, ...args]);
  await server.send(["EVAL", allotShares.text, "1", `${sharesKey(prefix)}:doctor`, ...encodeBeat(BEAT)]);
}

/** Each way of counting has commands of its own, alone and beside others. */
async function runAll(server: OpenServer, prefix: string): Promise<void> {
  const store = redisStore(server.client, { prefix });
  try {
    const addresses = EACH_POLICY.map((policy) => ({ key: KEY, policy }));
    const groups = [...addresses.map((address) => [address]), addresses];
    for (const group of [...groups, ...groups]) {
      const buckets = group.map((address) => ({ ...address, report: undefined }));
      requireStates(await store.take({ buckets, runs: [ONE_ASK] }));
    }
    requireStates(await store.adjust(addresses.map((address) => ({ ...address, tokens: 1 }))));
    requireStates(await store.block(addresses, 1000));
    requireStates(await store.peek(addresses));
    await store.reset(addresses);
  } finally {
    await store.close();
  }
}

/** A command that a script may not run on a bucket is told as that bucket's fault. */
function requireStates({ buckets }: PeekReply): void {
  for (const reading of buckets) if (reading.kind === "fault") throw reading.error;
}

const eviction = (server: OpenServer): Promise<Check> =>
  attempt("eviction", async () => {
    const info = await infoOf(server, "memory");
    const policy = info.get("maxmemory_policy") ?? "unknown";
    const most = Number(info.get("maxmemory") ?? 0);
    const room = most === 0 ? ", without a limit" : ` of ${info.get("maxmemory_human")}`;
    const found = `${policy}; ${info.get("used_memory_human") ?? "?"} used${room}`;
    if (most === 0 || GOOD_EVICTION.includes(policy)) return { what: "eviction", state: "ok", found };
    const advice = "An evicted bucket comes back full. Set maxmemory-policy to volatile-ttl or noeviction.";
    return { what: "eviction", state: "wrong", found, advice };
  });

const persistence = (server: OpenServer): Promise<Check> =>
  attempt("persistence", async () => {
    const info = await infoOf(server, "persistence");
    const aof = info.get("aof_enabled") === "1";
    const failed = info.get("rdb_last_bgsave_status") === "err" || info.get("aof_last_write_status") === "err";
    const found = aof
      ? "append-only file"
      : "snapshots or none: after a restart, buckets that were written since the last snapshot are full";
    if (!failed) return { what: "persistence", state: "ok", found };
    const advice = "The last save failed. Redis may refuse to write (MISCONF): look at its disk and its log.";
    return { what: "persistence", state: "wrong", found, advice };
  });

const clock = (server: OpenServer): Promise<Check> =>
  attempt("clock", async () => {
    const beforeMs = Date.now();
    const [seconds, micros] = (await server.send(["TIME"])) as [string, string];
    const middleMs = (beforeMs + Date.now()) / 2;
    const skewMs = Number(seconds) * 1000 + Number(micros) / 1000 - middleMs;
    const found = `${Math.abs(skewMs).toFixed(1)} ms ${skewMs < 0 ? "behind" : "ahead of"} this machine's`;
    if (Math.abs(skewMs) <= MOST_SKEW_MS) return { what: "clock", state: "ok", found };
    const advice = "Decisions use the server's clock only, so nothing breaks; let NTP set one of the two right.";
    return { what: "clock", state: "look", found, advice };
  });

const scripts = (server: OpenServer): Promise<Check> =>
  attempt("scripts", async () => {
    const hashes = Object.values(SCRIPTS).map(({ sha1 }) => sha1);
    const known = (await server.send(["SCRIPT", "EXISTS", ...hashes])) as number[];
    const cached = hashes.filter((_, i) => known[i] === 1).length;
    const found =
      cached === hashes.length
        ? `all ${cached} cached`
        : `${cached} of ${hashes.length} cached; the others are sent when they are needed`;
    return { what: "scripts", state: "ok", found };
  });

const slots = (server: OpenServer): Promise<Check> =>
  attempt("slots", async () => {
    const info = String(await server.send(["CLUSTER", "INFO"]));
    const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1] ?? "unknown";
    const found = `${field("cluster_slots_ok")} of 16384 served by ${field("cluster_size")} nodes, state ${field("cluster_state")}`;
    if (field("cluster_state") === "ok") return { what: "slots", state: "ok", found };
    return {
      what: "slots",
      state: "wrong",
      found,
      advice: "Keys of the slots that nobody serves are decided by shares.",
    };
  });

async function roundTrip(server: OpenServer, deadlineMs: number): Promise<Check> {
  const times: number[] = [];
  for (let i = 0; i < PINGS; i++) {
    const startMs = performance.now();
    await server.send(["GET", "spillway"]).catch(() => {});
    times.push(performance.now() - startMs);
  }
  times.sort((a, b) => a - b);
  const [median = 0, slow = 0] = [times[PINGS >> 1], times[PINGS - 2]];
  const found = `${showMs(median)}, nearly all within ${showMs(slow)}; the deadline is ${showMs(deadlineMs)}`;
  if (2 * slow <= deadlineMs) return { what: "round trip", state: "ok", found };
  const advice = `Set deadlineMs to at least ${Math.ceil(2 * slow)}, or calls that only take long count as missed.`;
  return { what: "round trip", state: "wrong", found, advice };
}
