import type { Redis } from "ioredis";

/** The part of an ioredis client that looking at keys needs: one node, not a whole cluster. */
export type ScanningClient = Pick<Redis, "scan" | "pttl" | "info">;

const PAGE = 500;

/** Every key under a prefix, sorted. The prefix is taken as it is: `*`, `?`, `[` and `\` in it mean themselves. */
export async function keysUnder(client: ScanningClient, prefix: string): Promise<string[]> {
  const pattern = `${prefix.replace(/[\\*?[\]]/g, "\\$&")}*`;
  const found = new Set<string>();
  let cursor = "0";
  do {
    const [next, keys] = await client.scan(cursor, "MATCH", pattern, "COUNT", PAGE);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...found].sort();
}

/** The keys under a prefix that would stay for ever; none is what every test wants to see. */
export async function keysWithoutExpiry(client: ScanningClient, prefix: string): Promise<string[]> {
  const lasting: string[] = [];
  for (const key of await keysUnder(client, prefix)) {
    // -1: no expiry. -2: gone since the scan.
    if ((await client.pttl(key)) === -1) lasting.push(key);
  }
  return lasting;
}

/** How often the server ran each command since its start, by lower-case name (`config|get` for a subcommand). */
export async function commandCalls(client: Pick<Redis, "info">): Promise<Map<string, number>> {
  const calls = new Map<string, number>();
  for (const line of (await client.info("commandstats")).split(/\r?\n/)) {
    const match = /^cmdstat_([^:]+):calls=(\d+)/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) calls.set(match[1].toLowerCase(), Number(match[2]));
  }
  return calls;
}
