import { policyResolver } from "../policy-set.ts";
import { bucketKey } from "../stores/redis/key-layout.ts";
import { adjust, allotShares, peek, reset, take } from "../stores/redis/scripts/generated.ts";
import { encodeTake } from "../stores/redis/take-encoding.ts";
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
const MOST_SKEW_MS = 1000;
const SCRIPTS = { take, peek, adjust, reset, allotShares };
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

/** Runs the script that decides, on keys of its own that are gone a moment later. */
async function rights(server: OpenServer, prefix: string): Promise<Check> {
  // A bucket is read and written whole, a log in pieces: together they need every right that there is.
  const { policies } = policyResolver([
    { name: "doctor", limit: 1000, period: 1000 },
    { name: "doctor-log", limit: 1000, period: 1000, algorithm: "sliding-window-log" },
  ])("spillway-doctor");
  try {
    for (const policy of policies) {
      const bucket = { key: "spillway-doctor", policy, report: undefined };
      const args = encodeTake({ buckets: [bucket], runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] });
      const name = bucketKey(prefix, bucket);
      await server.send(["EVAL", take.text, "1", name, ...args]);
      for (let i = 0; i < 2; i++) await server.send(["EVALSHA", take.sha1, "1", name, ...args]);
    }
    return { what: "rights", state: "ok", found: `the script may run on ${prefix}:*` };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    const advice = `Give the user what docs/operations.md lists, on ~${prefix}:* and ~${prefix}-shares:*.`;
    return { what: "rights", state: "wrong", found, advice };
  }
}

const eviction = (server: OpenServer): Promise<Check> =>
  attempt("eviction", async () => {
    const info = await infoOf(server, "memory");
    const policy = info.get("maxmemory_policy") ?? "unknown";
    const most = Number(info.get("maxmemory") ?? 0);
    const used = `${info.get("used_memory_human") ?? "?"} of ${most === 0 ? "no limit" : info.get("maxmemory_human")}`;
    const found = `${policy}, ${used}`;
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
      : "snapshots or none: buckets that were written since are full after a restart";
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
    const names = Object.keys(SCRIPTS).filter((_, i) => known[i] === 1);
    return {
      what: "scripts",
      state: "ok",
      found: `${names.length} of ${hashes.length} cached; the others are sent when they are needed`,
    };
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
