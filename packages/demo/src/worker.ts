import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { createServer, type DemoServer, type ServerSettings } from "./server-app.ts";
import { leaveSignalsToPrimary } from "./signals.ts";
import { type FromWorker, SETTINGS_VARIABLE, type ToWorker } from "./worker-messages.ts";

/** A worker of the demo: `node:cluster` runs this file, several times, on one port. */
async function main(): Promise<void> {
  leaveSignalsToPrimary();
  const settings = JSON.parse(process.env[SETTINGS_VARIABLE] ?? "{}") as ServerSettings;
  const connections = new Map<string, Redis>();
  for (const [mode, url] of Object.entries(settings.redisUrls)) connections.set(mode, await connectRedis(url));
  const server = await createServer(settings, String(process.pid), (mode) => {
    const redis = connections.get(mode);
    if (redis === undefined) throw new Error(`Mode ${mode} needs Redis, and the demo runs without.`);
    return redis;
  });
  process.on("message", (message: ToWorker) => {
    if (message.type === "collect") collect(server, message.mode);
    else void stop(server, [...connections.values()]);
  });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  send({ type: "ready", port: (server.app.server.address() as AddressInfo).port });
}

async function connectRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, { lazyConnect: true });
  // The limiter says once when the store cannot answer; without a listener ioredis would print every attempt.
  redis.on("error", () => {});
  await redis.connect();
  await redis.ping();
  return redis;
}

function collect(server: DemoServer, mode: string): void {
  const recorder = server.recorders.get(mode);
  if (recorder !== undefined) send({ type: "collected", mode, record: recorder.take() });
}

async function stop(server: DemoServer, connections: readonly Redis[]): Promise<void> {
  await server.close();
  for (const redis of connections) redis.disconnect();
  process.disconnect();
}

function send(message: FromWorker): void {
  process.send?.(message);
}

main().catch((error: unknown) => {
  send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
  process.disconnect();
});
