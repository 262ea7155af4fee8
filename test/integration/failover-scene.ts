import {
  eventually,
  type FaultProxy,
  keysWithoutExpiry,
  type RedisServer,
  startFaultProxy,
  startRedisServer,
} from "@spillway/testkit";
import { Redis, type RedisOptions } from "ioredis";
import type { StateChange } from "spillway";
import { createRateLimiter, type Decision, type RateLimiter, type RateLimiterOptions, redisStore } from "spillway";
import { expect, onTestFinished } from "vitest";
import { openSockets } from "../support/redis-fixture.ts";

/**
 * How long these tests wait for the return to the store. The mark is 3 s, and `npm run chaos` holds it; the rest is for machines
 * that run other tests at the same time.
 */
export const BACK_WITHIN_MS = 6_000;

/** A limiter that reaches a Redis of its own through a proxy, and what it told of the store. */
export interface FailoverScene {
  readonly server: RedisServer;
  readonly proxy: FaultProxy;
  /** Straight to the server. */
  readonly admin: Redis;
  /** The client that the store was made from. */
  readonly client: Redis;
  readonly limiter: RateLimiter;
  readonly changes: readonly StateChange[];
  /** Asks again and again until the store decides; gives that decision. */
  back(key?: string): Promise<Decision>;
}

export interface SceneOptions extends Pick<RateLimiterOptions, "policies" | "lease" | "deadlineMs" | "replicas"> {
  readonly redis?: RedisOptions;
  /** Whether the limiter goes straight to the server: this process, which is the proxy too, is to be busy. */
  readonly direct?: boolean;
  /** Before the limiter is made. */
  prepare?(scene: Pick<FailoverScene, "server" | "proxy" | "admin">): Promise<unknown> | unknown;
}

/** Starts all of it, and ends it after the test. Nothing may be left open then, and no key may be without expiry. */
export async function failoverScene({
  redis = {},
  direct = false,
  prepare,
  ...options
}: SceneOptions): Promise<FailoverScene> {
  const sockets = openSockets();
  const server = await startRedisServer();
  const proxy = await startFaultProxy({ targetPort: server.port });
  const admin = new Redis(server.url);
  const { host, port } = direct ? server : proxy;
  const client = new Redis(port, host, { ...redis, lazyConnect: true } as object);
  for (const each of [admin, client]) each.on("error", () => {}); // What fails shows in the decisions.
  await admin.ping();
  await prepare?.({ server, proxy, admin });
  const store = redisStore(client);
  const changes: StateChange[] = [];
  const limiter = createRateLimiter({ ...options, store, onStateChange: (change) => changes.push(change) });
  onTestFinished(async () => {
    server.resume();
    await limiter.close();
    await store.close();
    for (const each of [admin, client]) each.disconnect();
    await expectTidy(server);
    await proxy.stop();
    await server.stop();
    await eventually(() => openSockets() <= sockets, { withinMs: 5_000 });
  });
  const back = (key = "somebody else"): Promise<Decision> =>
    eventually(
      async () => {
        const decision = await limiter.consume(key);
        return !decision.degraded && decision;
      },
      { withinMs: BACK_WITHIN_MS },
    );
  return { server, proxy, admin, client, limiter, changes, back };
}

async function expectTidy({ url, running }: RedisServer): Promise<void> {
  if (!running) return;
  const looking = new Redis(url);
  expect(await keysWithoutExpiry(looking, ""), "keys without expiry").toEqual([]);
  looking.disconnect();
}

/** Whole tokens that a key has left in the store. */
export async function remainingOf(limiter: RateLimiter, key: string): Promise<number | undefined> {
  return (await limiter.peek(key)).policies[0]?.remaining;
}
