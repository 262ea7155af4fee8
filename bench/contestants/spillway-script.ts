import type { Internals, Policy, TakeBucket, TakeCall } from "../harness/internals.ts";
import { encodeCommand, type RawCommand } from "../harness/raw-connection.ts";
import type { ScriptCommands } from "./script-load.ts";

/** A form of call whose cost is asked for. */
export interface ScriptCall {
  readonly name: string;
  /** Keys of one call. */
  readonly keys: number;
  readonly policies: readonly Policy["algorithm"][];
  /** Whether each bucket settles the lease that the last call got, and wishes for another one. */
  readonly isLeased: boolean;
}

export const SCRIPT_CALLS: readonly ScriptCall[] = [
  { name: "exact-bucket", keys: 1, policies: ["token-bucket"], isLeased: false },
  { name: "fixed-window", keys: 1, policies: ["fixed-window"], isLeased: false },
  { name: "two-policies", keys: 1, policies: ["token-bucket", "token-bucket"], isLeased: false },
  { name: "leased", keys: 1, policies: ["token-bucket"], isLeased: true },
  { name: "leased-two-policies", keys: 1, policies: ["token-bucket", "token-bucket"], isLeased: true },
  { name: "32-keys", keys: 32, policies: ["token-bucket"], isLeased: false },
];

/** Commands of one connection, and keys in them. */
const COMMANDS = 64;
const CHECKED_LIMIT = 10;
/** Rates at which no bucket runs dry: what is measured is a call that is served. */
const EXACT_LIMIT = 1_000_000;
const LEASED_LIMIT = 20_000;
const LEASED_BURST = 4000;
const LEASE = { wish: 20, lifeUs: 100_000, demand: 21, weight: 21 };
/** Stand where the lease's id will be: as many digits as any id of this age has. */
const UNKNOWN_IDS = [1_111_111_111_111_111, 1_222_222_222_222_222];
const LEAST_GRANTED = 0.95;

/** Calls of take.lua, written by the product's own encoder. */
export function spillwayCommands(internals: Internals, shape: ScriptCall): ScriptCommands {
  const policies = shape.policies.map((algorithm, i) => policyOf(internals, shape, algorithm, i));
  const tally = { replies: 0, notServed: 0, granted: 0, last: "" };
  return {
    commandsOf: (connection) =>
      Array.from({ length: COMMANDS }, (_, i) => {
        const call = callOf(shape, policies, commandKey(shape, connection, i));
        return commandOf(internals, shape, call, tally);
      }),
    check: (call) => checkScript(internals, shape, call),
    fault() {
      if (tally.notServed > 0) return `it refused ${tally.notServed} requests within the limit`;
      const granted = tally.granted / (tally.replies * shape.policies.length);
      if (shape.isLeased && granted < LEAST_GRANTED)
        return `only ${(granted * 100).toFixed(0)} % of its wishes were granted, so that this is no leased call`;
      return undefined;
    },
  };
}

/** The policy behind a bucket of a call. */
export function policyOf(
  { resolvePolicy }: Internals,
  { isLeased }: ScriptCall,
  algorithm: ScriptCall["policies"][number],
  index: number,
): Policy {
  const name = `bench-${index}`;
  if (algorithm === "sliding-window-log") return resolvePolicy({ name, limit: 10_000, period: "1h", algorithm }, name);
  if (algorithm !== "token-bucket") return resolvePolicy({ name, limit: EXACT_LIMIT, period: "1s", algorithm }, name);
  const limit = isLeased ? LEASED_LIMIT : EXACT_LIMIT;
  return resolvePolicy({ name, limit, period: "1s", burst: isLeased ? LEASED_BURST : EXACT_LIMIT }, name);
}

/** Each key asks once, for cost 1 on each of its buckets. */
function callOf({ keys, isLeased }: ScriptCall, policies: readonly Policy[], key: string, count = 1): TakeCall {
  const buckets: TakeBucket[] = [];
  const runs: TakeCall["runs"][number][] = [];
  for (let k = 0; k < keys; k++) {
    runs.push({ count, charges: policies.map((_, i) => ({ bucket: buckets.length + i, cost: 1 })) });
    for (const [i, policy] of policies.entries()) {
      const settlements = [{ id: UNKNOWN_IDS[i] as number, settled: LEASE.wish, returned: 0 }];
      buckets.push({ key: `${key}:${k}`, policy, report: isLeased ? { ...LEASE, settlements } : undefined });
    }
  }
  return { buckets, runs };
}

function commandOf(
  internals: Internals,
  { isLeased }: ScriptCall,
  call: TakeCall,
  tally: { replies: number; notServed: number; granted: number },
): RawCommand {
  const keys = storeKeysOf(internals, call);
  const parts = ["EVALSHA", internals.take.sha1, String(keys.length), ...keys, ...internals.encodeTake(call)];
  const bytes = encodeCommand(parts);
  const places = isLeased ? call.buckets.map((_, i) => bytes.indexOf(String(UNKNOWN_IDS[i]))) : [];
  return {
    bytes,
    read(reply) {
      tally.replies++;
      readReply(reply, call, tally, (bucket, id) => {
        tally.granted++;
        bytes.write(String(id), places[bucket] as number, "latin1");
      });
    },
  };
}

/**
 * Reads of a reply only what this bench needs, which is cheaper than to decode it.
 * @param onLease gets the id of each lease.
 */
function readReply(
  reply: readonly number[],
  { buckets, runs }: TakeCall,
  tally: { notServed: number },
  onLease: (bucket: number, id: number) => void,
): void {
  if (buckets.length === runs.length && reply.length < 1 + 3 * buckets.length) {
    if (reply[1] !== 1) tally.notServed++;
    return;
  }
  // The last slots tell how many asks of each run were served.
  for (let slot = reply.length - runs.length; slot < reply.length; slot++) if (reply[slot] !== 1) tally.notServed++;
  let at = 1;
  for (let bucket = 0; buckets[bucket]?.report !== undefined; bucket++) {
    const flag = reply[at] as number;
    at += 2 + (flag & 1) + (flag & 2) + ((flag & 4) >> 1);
    if (flag >= 32) onLease(bucket, reply[flag & 8 ? at : 0] as number);
    if (flag & 8) at++;
  }
}

/** The keys of all calls of one key each, on so many connections. */
export function keysOf(shape: ScriptCall, connections: number): string[] {
  const numbers = Array.from({ length: connections * COMMANDS }, (_, i) => i);
  return numbers.map((i) => `${commandKey(shape, Math.floor(i / COMMANDS), i % COMMANDS)}:0`);
}

function commandKey({ name }: ScriptCall, connection: number, command: number): string {
  return `${name}:${connection}:${command}`;
}

function storeKeysOf({ bucketKey }: Internals, { buckets }: TakeCall): string[] {
  return buckets.map((bucket) => bucketKey("bench", bucket));
}

/** More asks at once than the limit on each key: the limit is served, no more. */
async function checkScript(
  internals: Internals,
  shape: ScriptCall,
  send: (...parts: string[]) => Promise<unknown>,
): Promise<string | undefined> {
  const policies = shape.policies.map((algorithm, i) =>
    internals.resolvePolicy({ name: `checked-${i}`, limit: CHECKED_LIMIT + 3 * i, period: "1h", algorithm }, "checked"),
  );
  const call = callOf(shape, policies, `${shape.name}:checked`, CHECKED_LIMIT + 5);
  const keys = storeKeysOf(internals, call);
  const { sha1 } = internals.take;
  const reply = (await send(sha1, String(keys.length), ...keys, ...internals.encodeTake(call))) as number[];
  const { buckets, served } = internals.decodeTake(reply, call, keys);
  const wrong = served.find((count) => count !== CHECKED_LIMIT);
  if (wrong !== undefined) return `it served ${wrong} asks; the limit is ${CHECKED_LIMIT}`;
  const ids: number[] = [];
  readReply(reply, call, { notServed: 0 }, (bucket, id) => {
    ids[bucket] = id;
  });
  const isElsewhere = (reading: (typeof buckets)[number], i: number): boolean =>
    reading.kind !== "state" || (reading.lease?.id ?? 0) !== (ids[i] ?? 0);
  return buckets.some(isElsewhere) ? "its replies have another form than this bench reads" : undefined;
}
