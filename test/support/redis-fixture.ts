import {
  eventually,
  keysWithoutExpiry,
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from "@spillway/testkit";
import { Redis, type RedisOptions } from "ioredis";
import { createRateLimiter, type RateLimiter, type RateLimiterOptions, redisStore } from "spillway";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

/** A private Redis for the tests of a file. */
export interface OwnRedis {
  readonly server: RedisServer;
  /** For looking at the server; tests that stop it use clients of their own. */
  readonly client: Redis;
}

/** One with what tests open on it. */
export interface RedisFixture extends OwnRedis {
  /** A client that is closed after the test. */
  connect(options?: RedisOptions): Redis;
  /** A limiter over a client of its own, both closed after the test. The deadline is long, so that a busy machine degrades nothing. */
  limiter(options: Omit<RateLimiterOptions, "store">): RateLimiter;
  /** Has something done after the test, before it is looked at what was left behind. */
  afterwards(action: () => Promise<void> | void): void;
}

/** Long enough for a busy machine; tests of the deadline set their own. */
export const PATIENT_MS = 5000;

/** Starts the server before the file's tests and ends it after them; whatever they leave in it stays for the next. */
export function ownRedis(options: RedisServerOptions = {}): OwnRedis {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedisServer(options);
    client = new Redis(server.url);
    client.on("error", () => {}); // A test may have stopped the server.
    await client.ping();
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
  };
}

/** As `ownRedis`, empty for each test. After each: no key may be without expiry, and no socket open that was not open before. */
export function redisFixture(options: RedisServerOptions = {}): RedisFixture {
  const own = ownRedis(options);
  let sockets = 0;
  let actions: (() => Promise<void> | void)[] = [];

  beforeAll(() => {
    sockets = openSockets();
  });

  afterEach(async () => {
    const undo = actions.reverse();
    actions = [];
    for (const action of undo) await action();
    const { server, client } = own;
    if (!server.running) return;
    await client.ping();
    expect(await keysWithoutExpiry(client, ""), "keys without expiry").toEqual([]);
    await client.flushall();
    await eventually(() => openSockets() <= sockets, { withinMs: 5000 }).catch(() => {
      expect(openSockets(), "sockets left open").toBeLessThanOrEqual(sockets);
    });
  });

  const fixture: RedisFixture = {
    get server() {
      return own.server;
    },
    get client() {
      return own.client;
    },
    connect(redisOptions = {}) {
      const { port, host } = own.server;
      const connected = new Redis(port, host, redisOptions as object);
      connected.on("error", () => {}); // What fails shows in the decisions.
      actions.push(() => connected.disconnect());
      return connected;
    },
    limiter(limiterOptions) {
      const store = redisStore(fixture.connect({ lazyConnect: true }));
      const limiter = createRateLimiter({ deadlineMs: PATIENT_MS, onStateChange: () => {}, ...limiterOptions, store });
      actions.push(async () => {
        await limiter.close();
        await store.close();
      });
      return limiter;
    },
    afterwards(action) {
      actions.push(action);
    },
  };
  return fixture;
}

/** TCP connections of this process, to whomever. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
}
