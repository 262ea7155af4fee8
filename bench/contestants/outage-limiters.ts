import type { IncomingMessage, ServerResponse } from "node:http";
import fastifyRateLimit from "@fastify/rate-limit";
import { rateLimit } from "express-rate-limit";
import Fastify from "fastify";
import type { Redis, RedisOptions } from "ioredis";
import { type RedisReply, RedisStore } from "rate-limit-redis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createRateLimiter, redisStore } from "spillway";

/** Requests of each key in {@link PERIOD_MS}: more than are made, so that every decision of the store admits. */
const LIMIT = 1_000_000;
const PERIOD_MS = 3_600_000;

/** A limiter that is set up to go on without Redis, as its own documentation says. */
export interface OutageLimiter {
  readonly name: string;
  /** What its client is made with. */
  readonly client: RedisOptions;
  open(client: Redis): Promise<{ decide(key: string): Promise<boolean>; close(): Promise<void> }>;
}

const nothing = async (): Promise<void> => {};

export const spillwayDefaults: OutageLimiter = {
  name: "spillway",
  client: {},
  async open(client) {
    const store = redisStore(client);
    const policies = { name: "outage", limit: LIMIT, period: PERIOD_MS };
    const limiter = createRateLimiter({ store, policies, lease: false, onStateChange: () => {} });
    return {
      decide: async (key) => (await limiter.consume(key)).allowed,
      async close() {
        await limiter.close();
        await store.close();
      },
    };
  },
};

export const withInsurance: OutageLimiter = {
  name: "rate-limiter-flexible, insurance",
  client: { enableOfflineQueue: false },
  async open(client) {
    const quota = { points: LIMIT, duration: PERIOD_MS / 1000 };
    const limiter = new RateLimiterRedis({
      ...quota,
      storeClient: client,
      keyPrefix: "rlf",
      insuranceLimiter: new RateLimiterMemory(quota),
    });
    return {
      async decide(key) {
        try {
          await limiter.consume(key);
          return true;
        } catch (refusal) {
          if (refusal instanceof RateLimiterRes) return false;
          throw refusal;
        }
      },
      close: nothing,
    };
  },
};

export const withSkipOnError: OutageLimiter = {
  name: "@fastify/rate-limit, skipOnError",
  client: { connectTimeout: 500, maxRetriesPerRequest: 1 },
  async open(client) {
    const app = Fastify();
    await app.register(fastifyRateLimit, {
      redis: client,
      max: LIMIT,
      timeWindow: PERIOD_MS,
      skipOnError: true,
      keyGenerator: (request) => String(request.headers["x-key"]),
    });
    app.get("/", async () => "");
    await app.ready();
    return {
      decide: async (key) => (await app.inject({ url: "/", headers: { "x-key": key } })).statusCode === 200,
      close: async () => app.close(),
    };
  },
};

export const withPassOnStoreError: OutageLimiter = {
  name: "rate-limit-redis, passOnStoreError",
  client: {},
  async open(client) {
    const middleware = rateLimit({
      store: new RedisStore({
        sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<RedisReply>,
      }),
      windowMs: PERIOD_MS,
      limit: LIMIT,
      passOnStoreError: true,
      legacyHeaders: false,
      standardHeaders: false,
      validate: false,
      keyGenerator: (request) => (request as unknown as { key: string }).key,
      handler: (request) => (request as unknown as { refuse(): void }).refuse(),
    });
    return {
      /** The middleware alone: a request and an answer with no more than it uses. */
      decide: (key) =>
        new Promise((resolve, reject) => {
          const request = { key, refuse: () => resolve(false) } as unknown as IncomingMessage;
          const next = (error?: unknown): void => (error === undefined ? resolve(true) : reject(error));
          void (middleware as unknown as Middleware)(request, {} as ServerResponse, next);
        }),
      close: nothing,
    };
  },
};

type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => unknown;
