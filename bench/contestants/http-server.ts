// A service behind a limiter, or one that is full, in a process of its own so that its CPU time is measured alone. It is told what
// to be over IPC.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import spillway from "@spillway/fastify";
import Fastify, { type FastifyInstance, type onRequestHookHandler } from "fastify";
import { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createRateLimiter, redisStore } from "spillway";
import {
  HTTP_BODY,
  type HttpServerReply,
  type HttpServerRequest,
  type LimitedServerKind,
  type LocalDecisions,
  type ShedServerKind,
} from "./http-messages.ts";
import { SHED_SERVERS } from "./shed-servers.ts";

const PERIOD_MS = 3_600_000;
/** From here on a limit is not meant to be reached, and given per second, so that it is leased. */
const BOUNDLESS = 1_000_000_000;

/** Sets a limiter up; the function returned tells how many decisions needed no call, where that is known. */
type SetUp = (app: FastifyInstance, redisUrl: string, limit: number) => Promise<() => LocalDecisions | undefined>;

const unknown = (): undefined => undefined;

/** What is written by hand says as much as what a limiter writes. */
const POLICY_FIELD = '"http";q=1000000000;w=1';
const REFUSAL_BODY = JSON.stringify({
  statusCode: 429,
  code: "SPILLWAY_LIMITED",
  error: "Too Many Requests",
  message: "Over the limit, come back later.",
  retryAfterMs: 3_599_999,
});

const SET_UPS: Readonly<Record<LimitedServerKind, SetUp>> = {
  bare: async (app) => {
    app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
    return unknown;
  },
  bareWithHeaders: async (app) => {
    app.get("/", (_request, reply) => {
      reply.header("ratelimit-policy", POLICY_FIELD).header("ratelimit", '"http";r=99999999;t=0');
      reply.send(HTTP_BODY);
    });
    return unknown;
  },
  floor: async (app, _redisUrl, limit) => {
    app.addHook("onRequest", leastLimit(limit));
    app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
    return unknown;
  },
  "constant 429": async (app) => {
    app.addHook("onRequest", (_request, reply) => {
      reply.header("ratelimit-policy", POLICY_FIELD).header("ratelimit", '"http";r=0;t=3600');
      reply.header("retry-after", "3600").header("content-type", "application/json; charset=utf-8");
      reply.code(429).send(REFUSAL_BODY);
    });
    app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
    return unknown;
  },
  spillway: async (app, redisUrl, limit) => {
    const policies =
      limit < BOUNDLESS
        ? { name: "http", limit, period: PERIOD_MS }
        : { name: "http", limit, period: "1s" as const, burst: limit / 10 };
    const limiter = createRateLimiter({ store: redisStore(new Redis(redisUrl)), policies, deadlineMs: 10_000 });
    await app.register(spillway, { limiter });
    app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
    return () => {
      const { sources } = limiter.stats();
      return { leased: sources.lease, denied: sources["denial-cache"] };
    };
  },
  "@fastify/rate-limit": (app, redisUrl, max) =>
    fastifyRateLimit(app, max, new Redis(redisUrl, { connectTimeout: 500, maxRetriesPerRequest: 1 })),
  "@fastify/rate-limit memory": (app, _redisUrl, max) => fastifyRateLimit(app, max, undefined),
  "rate-limiter-flexible": async (app, redisUrl, points) => {
    const storeClient = new Redis(redisUrl, { enableOfflineQueue: false });
    await new Promise((resolve) => storeClient.once("ready", resolve));
    const limiter = new RateLimiterRedis({ storeClient, points, duration: PERIOD_MS / 1000 });
    app.addHook("onRequest", async (request, reply) => {
      try {
        await limiter.consume(request.ip);
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return reply.code(429).send("Too Many Requests");
      }
    });
    app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
    return unknown;
  },
};

/** The least that a limit can be, in this process alone: a Map, one clock, a count, and the two fields. */
function leastLimit(limit: number): onRequestHookHandler {
  const buckets = new Map<string, { left: number; readonly untilMs: number }>();
  return (request, reply, done) => {
    const nowMs = performance.now();
    let bucket = buckets.get(request.ip);
    if (bucket === undefined || nowMs >= bucket.untilMs) {
      bucket = { left: limit, untilMs: nowMs + PERIOD_MS };
      buckets.set(request.ip, bucket);
    }
    bucket.left--;
    reply.header("ratelimit-policy", POLICY_FIELD).header("ratelimit", `"http";r=${bucket.left};t=0`);
    if (bucket.left < 0) reply.code(429).send(REFUSAL_BODY);
    else done();
  };
}

async function fastifyRateLimit(app: FastifyInstance, max: number, redis: Redis | undefined): Promise<() => undefined> {
  const { default: rateLimit } = await import("@fastify/rate-limit");
  await app.register(rateLimit, { max, timeWindow: PERIOD_MS, ...(redis === undefined ? {} : { redis }) });
  app.get("/", (_request, reply) => void reply.send(HTTP_BODY));
  return unknown;
}

let local = unknown as () => LocalDecisions | undefined;

async function listen(request: HttpServerRequest & { ask: "listen" }): Promise<number> {
  const server = await serverOf(request);
  return (server.address() as AddressInfo).port;
}

async function serverOf({ kind, redisUrl, limit }: HttpServerRequest & { ask: "listen" }): Promise<Server> {
  const address = { port: 0, host: "127.0.0.1" };
  if (isShedServer(kind)) {
    const server = await SHED_SERVERS[kind]();
    await once(server.listen(address), "listening");
    return server;
  }
  const app = Fastify();
  local = await SET_UPS[kind](app, redisUrl, limit);
  await app.listen(address);
  return app.server;
}

function isShedServer(kind: string): kind is ShedServerKind {
  return Object.hasOwn(SHED_SERVERS, kind);
}

function answer(reply: HttpServerReply): void {
  process.send?.(reply);
}

process.on("message", (request: HttpServerRequest) => {
  if (request.ask === "usage") {
    const { user, system } = process.cpuUsage();
    answer({ cpuMs: (user + system) / 1000, local: local() });
  } else {
    listen(request).then(
      (port) => answer({ port }),
      (error: unknown) => answer({ error: String(error) }),
    );
  }
});
process.on("disconnect", () => process.exit());
