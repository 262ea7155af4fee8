// CALLS consumes of one key, spread over SECONDS, when the parent says so; sends what became of them.
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const CALLS = Number(process.env.CALLS);
const SECONDS = Number(process.env.SECONDS);
const client = new Redis({ host: "127.0.0.1", port: Number(process.env.REDIS_PORT), lazyConnect: true });
const store = redisStore(client);
const limiter = createRateLimiter({
  store,
  lease: process.env.LEASE === "true" ? { maxDrainMs: 50 } : false,
  deadlineMs: Number(process.env.DEADLINE_MS ?? 5000),
  replicas: Number(process.env.REPLICAS ?? 1),
  policies: { name: "minute", limit: Number(process.env.LIMIT ?? 100), period: "1m", algorithm: process.env.ALGORITHM },
});
const isThere = () =>
  limiter.peek("k").then(
    () => true,
    () => false,
  );
while (!(await isThere()));
process.once("message", async () => {
  const startedMs = performance.now();
  const asked = [];
  while (asked.length < CALLS) {
    const due = Math.min(CALLS, Math.ceil(((performance.now() - startedMs) / 1000 / SECONDS) * CALLS));
    while (asked.length < due) asked.push(limiter.consume("k"));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const decisions = await Promise.all(asked);
  const sources = {};
  for (const { source } of decisions) sources[source] = (sources[source] ?? 0) + 1;
  process.send({ asked: decisions.length, allowed: decisions.filter(({ allowed }) => allowed).length, sources });
  await limiter.close();
  await store.close();
  process.disconnect();
});
process.send("ready");
