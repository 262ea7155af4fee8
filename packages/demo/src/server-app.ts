import { spillway } from "@spillway/fastify";
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from "fastify";
import type { Redis } from "ioredis";
import type { PolicyOptions, RateLimiter } from "spillway";
import { DecisionRecorder } from "./decision-recorder.ts";
import { modeNamed } from "./modes.ts";

/** What a server needs to know; it crosses process borders as JSON. */
export interface ServerSettings {
  readonly modes: readonly string[];
  readonly policy: PolicyOptions;
  readonly workers: number;
  /** What keys in Redis begin with. */
  readonly prefix: string;
  /** The address of Redis in each mode that needs it. */
  readonly redisUrls: Readonly<Record<string, string>>;
}

/** A Fastify application with one limited route per mode. */
export interface DemoServer {
  readonly app: FastifyInstance;
  readonly recorders: ReadonlyMap<string, DecisionRecorder>;
  /** Stops listening and closes the limiters; the Redis connection is the caller's. */
  close(): Promise<void>;
}

/**
 * Makes the application: `GET /<mode>` is limited per `x-api-key` as that mode does it. Every answer names its worker in the
 * field `x-worker`.
 * @param redis the connection for a mode; asked for only by modes that need it.
 */
export async function createServer(
  settings: ServerSettings,
  name: string,
  redis: (mode: string) => Redis,
): Promise<DemoServer> {
  const app = Fastify({ forceCloseConnections: true });
  const recorders = new Map<string, DecisionRecorder>();
  const limiters: RateLimiter[] = [];
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("x-worker", name);
  });
  for (const mode of settings.modes) {
    const limiter = modeNamed(mode).createLimiter({
      policy: settings.policy,
      workers: settings.workers,
      prefix: `${settings.prefix}:${mode}`,
      redis: () => redis(mode),
    });
    const recorder = new DecisionRecorder();
    limiters.push(limiter);
    recorders.set(mode, recorder);
    await app.register(limitedRoute(mode, name, recorder.wrap(limiter)));
  }
  return {
    app,
    recorders,
    async close() {
      await app.close();
      await Promise.all(limiters.map((limiter) => limiter.close()));
    },
  };
}

function limitedRoute(mode: string, worker: string, limiter: RateLimiter): FastifyPluginAsync {
  return async (scope) => {
    await scope.register(spillway, { limiter, key: (request) => apiKeyOf(request.headers) });
    scope.get(`/${mode}`, async () => ({ worker, mode }));
  };
}

function apiKeyOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const key = headers["x-api-key"];
  return typeof key === "string" && key !== "" ? key : "no-key";
}
