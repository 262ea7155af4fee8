import type { Redis } from "ioredis";
import type { BenchRedis } from "../harness/bench-redis.ts";
import type { Internals, Policy } from "../harness/internals.ts";
import type { Contestant } from "../harness/question.ts";

/** A contestant whose keys hold logs of so many tokens, of as many instants, before each round. */
export function withHeldLog(
  contestant: Contestant,
  redis: BenchRedis,
  internals: Internals,
  policy: Policy,
  keys: readonly string[],
  tokens: number,
): Contestant {
  let client: Redis | undefined;
  const storeKeyOf = (key: string): string => internals.bucketKey("bench", { key, policy });
  const template = storeKeyOf(`template:${tokens}`);
  return {
    ...contestant,
    async prepare(round) {
      client ??= await redis.connect();
      if ((await client.exists(template)) === 0) await fill(client, internals, policy, template, tokens);
      const copies = client.pipeline();
      for (const key of keys) copies.call("COPY", template, storeKeyOf(key), "REPLACE");
      await copies.exec();
      await contestant.prepare?.(round);
    },
    async close() {
      client?.disconnect();
      await contestant.close?.();
    },
  };
}

/** One call after another, so that each token has an instant of its own. */
async function fill(
  client: Redis,
  internals: Internals,
  policy: Policy,
  storeKey: string,
  tokens: number,
): Promise<void> {
  await client.script("LOAD", internals.take.text);
  const buckets = [{ key: storeKey, policy, report: undefined }];
  const args = internals.encodeTake({ buckets, runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }] });
  for (let sent = 0; sent < tokens; sent += 500) {
    const batch = client.pipeline();
    for (let i = sent; i < Math.min(tokens, sent + 500); i++) batch.evalsha(internals.take.sha1, 1, storeKey, ...args);
    await batch.exec();
  }
}
