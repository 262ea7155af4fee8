import { hostname } from "node:os";
import { Redis } from "ioredis";
import { redisStore } from "spillway";
import { MODES } from "./modes.ts";
import { parseOptions } from "./options.ts";
import { createServer } from "./server-app.ts";

const PORT = 8080;

/** The way of replicas to Redis is not the demo's to cut. */
const MODES_OF_REPLICAS = MODES.filter(({ outage }) => outage === undefined).map(({ name }) => name);

/**
 * One server of the demo in a container of its own, for a load balancer to spread requests over. It takes the demo's options
 * for the limit, serves every mode, and counts in the Redis of `SPILLWAY_REDIS_URL`.
 */
async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args, 0);
  const url = process.env.SPILLWAY_REDIS_URL;
  if (options === "help" || url === undefined) throw new Error("A replica needs SPILLWAY_REDIS_URL.");
  const redis = new Redis(url);
  redis.on("error", (error) => console.error(`Redis: ${error.message}`));
  const store = redisStore(redis, { prefix: "spillway-demo" });
  const server = await createServer(
    {
      modes: MODES_OF_REPLICAS,
      policy: { limit: options.limit, period: options.periodMs, burst: options.burst },
      workers: options.workers,
    },
    hostname(),
    { storeOf: () => store },
  );
  // Past the load balancer, a measuring client asks who is there.
  server.app.get("/health", async () => ({ worker: hostname() }));
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      void server
        .close()
        .then(() => store.close())
        .finally(() => redis.disconnect());
    });
  await server.app.listen({ host: process.env.HOST ?? "0.0.0.0", port: PORT });
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
