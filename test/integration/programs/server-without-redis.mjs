// A server with a guarded route and a second limiter that nobody uses, on a Redis that may not be there. Prints a line for
// each change of the store's state.

import { spillway } from "@spillway/fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const address = { host: "127.0.0.1", port: Number(process.env.REDIS_PORT), lazyConnect: true };
const open = () => {
  const store = redisStore(new Redis(address));
  const limiter = createRateLimiter({
    store,
    policies: { name: "p", limit: 20, period: "1h" },
    replicas: 2,
    deadlineMs: Number(process.env.DEADLINE_MS),
    lease: false,
    onStateChange: ({ state }) => console.log(state),
  });
  return { store, limiter };
};
const used = open();
const unused = open();

const app = Fastify();
await app.register(spillway, { limiter: used.limiter, key: () => "route" });
app.get("/", async () => "hello");
await app.ready();

process.on("message", async ({ ask, key = "k", end }) => {
  if (ask !== undefined) {
    const decisions = await Promise.all(
      Array.from({ length: ask }, async () => {
        const startedMs = performance.now();
        const decision = await used.limiter.consume(key);
        return { decision, tookMs: performance.now() - startedMs };
      }),
    );
    const { statusCode } = await app.inject("/");
    process.send({ decisions, statusCode });
  }
  if (end) {
    await app.close();
    for (const { limiter, store } of [used, unused]) {
      await limiter.close();
      await store.close();
    }
    process.disconnect();
  }
});
process.send("ready");
