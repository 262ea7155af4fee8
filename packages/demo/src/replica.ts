import { hostname } from "node:os";
import { Redis } from "ioredis";
import { MODE_NAMES } from "./modes.ts";
import { parseOptions } from "./options.ts";
import { createServer, type DemoServer } from "./server-app.ts";

const PORT = 8080;

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
  const server = await createServer(
    {
      modes: MODE_NAMES,
      policy: { name: "demo", limit: options.limit, period: options.periodMs, burst: options.burst },
      workers: options.workers,
      prefix: "spillway-demo",
      redisUrls: {},
    },
    hostname(),
    () => redis,
  );
  serveRecords(server);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      void server.close().finally(() => redis.disconnect());
    });
  await server.app.listen({ host: process.env.HOST ?? "0.0.0.0", port: PORT });
}

/** What a measuring client asks each replica itself, past the load balancer. */
function serveRecords({ app, recorders }: DemoServer): void {
  app.get("/health", async () => ({ ready: true }));
  app.get<{ Params: { mode: string } }>("/decisions/:mode", async (request, reply) => {
    const recorder = recorders.get(request.params.mode);
    if (recorder === undefined) return reply.code(404).send({ error: "There is no such mode." });
    return { worker: hostname(), record: recorder.take() };
  });
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
