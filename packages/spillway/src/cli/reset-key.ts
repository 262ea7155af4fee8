import { createRateLimiter } from "../rate-limiter.ts";
import { redisStore } from "../stores/redis/redis-store.ts";
import { findBuckets } from "./inspect.ts";
import type { OpenServer } from "./open-server.ts";
import type { GivenPolicies } from "./read-policies.ts";
import type { CommandOptions, Report } from "./run-cli.ts";

/**
 * `spillway reset`: makes a key as if unused. Tokens on lease stay counted, and that takes the policies; without them the
 * buckets are deleted, and only where nothing is on lease.
 */
export async function resetKey(
  server: OpenServer,
  options: CommandOptions,
  key: string,
  given: GivenPolicies | undefined,
): Promise<Report> {
  const names = given === undefined ? await forget(server, options, key) : await reset(server, options, key, given);
  const what = `${JSON.stringify(key)} (prefix ${options.prefix})`;
  const line = names.length === 0 ? `${what} was as if unused.` : `${what} is as if unused: ${names.join(", ")}.`;
  return { lines: [line], json: { key, prefix: options.prefix, reset: names }, isBad: false };
}

async function reset(
  server: OpenServer,
  { prefix }: CommandOptions,
  key: string,
  { option, set }: GivenPolicies,
): Promise<string[]> {
  const store = redisStore(server.client, { prefix });
  const quiet = { deadlineMs: 3000, lease: false, onStateChange: () => {} } as const;
  const limiter = createRateLimiter({ store, policies: option, ...quiet });
  try {
    await limiter.reset(key);
    return set.policies.map(({ name }) => name);
  } finally {
    await limiter.close();
    await store.close();
  }
}

async function forget(server: OpenServer, { prefix }: CommandOptions, key: string): Promise<string[]> {
  const found = await findBuckets(server, prefix, key, undefined);
  const leased = found.filter(({ bucket }) => bucket !== undefined && bucket.onLease > 0);
  if (leased.length > 0)
    throw new Error(
      `Tokens of ${leased.map(({ name }) => name).join(", ")} are on lease, and deleting the bucket would let them in twice. ` +
        "Give the policies with --policies, so that they stay counted.",
    );
  for (const { name } of found) await server.send(["DEL", name]);
  return found.map(({ name }) => name);
}
