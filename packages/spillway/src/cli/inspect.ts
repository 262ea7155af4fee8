import type { PolicyStatus } from "../decision.ts";
import { createRateLimiter } from "../rate-limiter.ts";
import { bucketKeys, keyTag } from "../stores/redis/key-layout.ts";
import { redisStore } from "../stores/redis/redis-store.ts";
import type { OpenServer } from "./open-server.ts";
import type { GivenPolicies } from "./read-policies.ts";
import type { CommandOptions, Report } from "./run-cli.ts";
import { readStoredBucket, type StoredBucket } from "./stored-bucket.ts";
import { renderRows, showMs } from "./text-table.ts";

const MOST_ROUNDS = 100_000;

/** A key of Redis that belongs to a user's key. */
export interface Found {
  readonly name: string;
  readonly expiresMs: number;
  readonly bucket: StoredBucket | undefined;
}

/** `spillway inspect`: how the buckets of a key stand. */
export async function inspect(
  server: OpenServer,
  options: CommandOptions,
  key: string,
  given: GivenPolicies | undefined,
): Promise<Report> {
  const found = await findBuckets(server, options.prefix, key, given);
  const statuses = given === undefined ? [] : await peek(server, options, key, given);
  const json = { key, prefix: options.prefix, buckets: found, policies: statuses };
  return { lines: [...storedLines(found, key, options), ...statusLines(statuses, given)], json, isBad: false };
}

/** The buckets of a key that Redis has: those of known policies at once, else by looking through all keys. */
export async function findBuckets(
  server: OpenServer,
  prefix: string,
  key: string,
  given: GivenPolicies | undefined,
): Promise<Found[]> {
  const names =
    given === undefined
      ? await scan(server, prefix, key)
      : bucketKeys(
          prefix,
          given.set.policies.map((policy) => ({ key, policy })),
        );
  const nowMs = await serverMs(server);
  const found: Found[] = [];
  for (const name of names) {
    const value = await server.sendForBytes(["GET", name]).catch(unlessOfAnotherType);
    if (value === null) continue;
    const expiresMs = Number(await server.send(["PTTL", name]));
    found.push({ name, expiresMs, bucket: Buffer.isBuffer(value) ? readStoredBucket(name, value, nowMs) : undefined });
  }
  return found;
}

/** A value of another type is shown as one that is not ours; whatever else goes wrong is for the user to hear. */
function unlessOfAnotherType(error: Error): undefined {
  if (!error.message.startsWith("WRONGTYPE")) throw error;
}

async function scan(server: OpenServer, prefix: string, key: string): Promise<string[]> {
  if (server.isCluster) throw new Error("On a cluster the policies must be known: give them with --policies.");
  const pattern = `${escapeGlob(`${prefix}:v1:{${keyTag(key)}}:`)}*`;
  const names = new Set<string>();
  let cursor = "0";
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const [next, page] = (await server.send(["SCAN", cursor, "MATCH", pattern, "COUNT", "1000"])) as [string, string[]];
    for (const name of page) names.add(name);
    cursor = next;
    if (cursor === "0") return [...names].sort();
  }
  throw new Error("The server has too many keys to look through: give the policies with --policies.");
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]]/g, "\\$&");
}

async function serverMs(server: OpenServer): Promise<number> {
  if (server.isCluster) return Date.now();
  const [seconds, micros] = (await server.send(["TIME"])) as [string, string];
  return Number(seconds) * 1000 + Number(micros) / 1000;
}

async function peek(
  server: OpenServer,
  { prefix }: CommandOptions,
  key: string,
  { option }: GivenPolicies,
): Promise<readonly PolicyStatus[]> {
  const store = redisStore(server.client, { prefix });
  const limiter = createRateLimiter({
    store,
    policies: option,
    deadlineMs: 3000,
    lease: false,
    onStateChange: () => {},
  });
  try {
    return (await limiter.peek(key)).policies;
  } finally {
    await limiter.close();
    await store.close();
  }
}

function storedLines(found: readonly Found[], key: string, { prefix }: CommandOptions): string[] {
  if (found.length === 0)
    return [`${JSON.stringify(key)} has no bucket under the prefix ${prefix}: it is as if unused.`];
  const rows = found.map(({ name, expiresMs, bucket }) => [
    name,
    bucket?.level === undefined ? "" : String(Math.floor(bucket.level * 1000) / 1000),
    usedText(bucket),
    bucket === undefined ? "not ours" : String(bucket.onLease),
    bucket === undefined ? "" : new Date(bucket.writtenMs).toISOString(),
    expiresMs < 0 ? "no expiry" : showMs(expiresMs),
    blockText(bucket?.blockedForMs),
  ]);
  return renderRows(["stored as", "level", "used", "on lease", "written", "expires in", "blocked for"], rows);
}

function usedText(bucket: StoredBucket | undefined): string {
  if (bucket?.used === undefined) return "";
  return bucket.usedBefore === undefined ? String(bucket.used) : `${bucket.used}, ${bucket.usedBefore} before`;
}

function statusLines(statuses: readonly PolicyStatus[], given: GivenPolicies | undefined): string[] {
  if (statuses.length === 0) return [];
  const rows = statuses.map((status, i) => [
    status.policy,
    String(status.limit),
    showMs(status.periodMs),
    String(given?.set.policies[i]?.capacity ?? ""),
    String(status.remaining),
    showMs(status.retryAfterMs),
    showMs(status.resetAfterMs),
    blockText(status.blockedForMs),
  ]);
  return [
    "",
    ...renderRows(["policy", "limit", "period", "at most", "remaining", "wait for 1", "full in", "blocked for"], rows),
  ];
}

function blockText(ms = 0): string {
  return ms > 0 ? showMs(ms) : "";
}
