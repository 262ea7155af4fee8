// 100 concurrent consumes of one key, when the parent says so; sends the decisions back.
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const client = new Redis({ host: "127.0.0.1", port: Number(process.env.REDIS_PORT), lazyConnect: true });
const store = redisStore(client);
const limiter = createRateLimiter({
  store,
  lease: false,
  deadlineMs: 5000,
  policies: { name: "hundred", limit: 100, period: "1m", algorithm: process.env.ALGORITHM },
});
await limiter.peek("k");
process.once("message", async () => {
  const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume("k")));
  process.send(decisions);
  await limiter.close();
  await store.close();
  process.disconnect();
});
process.send("ready");
