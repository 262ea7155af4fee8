// Asks for very many keys while Redis is away, and tells what that costs. Its parent ends it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");
const REFILL_PER_SECOND = 1;
const TURN = 1000;

const client = new Redis({ host: "127.0.0.1", port: Number(process.env.REDIS_PORT), lazyConnect: true });
client.on("error", () => {});
const store = redisStore(client);
const policies = { name: "p", limit: 3600 * REFILL_PER_SECOND, period: "1h", burst: 20 };
const limiter = createRateLimiter({ store, policies, onStateChange: () => {} });

function heapBytes() {
  for (let i = 0; i < 3; i++) collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heapUsed, arrayBuffers };
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Admissions of each of so many keys, until it is refused or has had `most`. */
function drain(name, count, most) {
  return Array.from({ length: count }, (_value, i) => {
    let admitted = 0;
    while (admitted < most && limiter.consumeNow(`${name}:${i}`)?.allowed === true) admitted++;
    return admitted;
  });
}

const operations = {
  async away() {
    while (limiter.consumeNow("warm")?.degraded !== true) await limiter.consume("warm");
  },
  drain: ({ name, count, most = 1e9 }) => ({ admitted: drain(name, count, most), atMs: performance.now() }),
  /** One call for each of `count` keys, measured in ten parts. */
  async flood({ name, count }) {
    const before = { ...heapBytes(), timers: timers() };
    const cpuUs = [];
    let mostTimers = 0;
    let slow = 0;
    for (let done = 0, part = 0; part < 10; part++) {
      const from = process.cpuUsage();
      for (const end = ((part + 1) * count) / 10; done < end; done++) {
        const startedMs = performance.now();
        if (limiter.consumeNow(`${name}:${done}`)?.degraded !== true) throw new Error("not decided without the store");
        if (performance.now() - startedMs > 1) slow++;
        if (done % TURN === 0) await turn();
      }
      const { user, system } = process.cpuUsage(from);
      cpuUs.push((user + system) / (count / 10));
      mostTimers = Math.max(mostTimers, timers() - before.timers);
    }
    const { heapUsed, arrayBuffers } = heapBytes();
    const grown = { heap: heapUsed - before.heapUsed, arrays: arrayBuffers - before.arrayBuffers };
    return { cpuUs, mostTimers, slow, grown, keys: limiter.stats().keys };
  },
  /** Does nothing for so long. */
  async idle({ forMs }) {
    await new Promise((resolve) => setTimeout(resolve, forMs));
    return { keys: limiter.stats().keys, ...heapBytes() };
  },
  heap: () => heapBytes(),
  /** Waits until Redis decides and every share is let go. */
  async back() {
    const untilMs = performance.now() + 20_000;
    while (limiter.stats().keys > 1 && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, 50));
    return { keys: limiter.stats().keys, ...heapBytes() };
  },
  /** Waits until Redis has heard that a key was in use. */
  async told({ key, full }) {
    const startedMs = performance.now();
    for (let remaining = full; remaining === full && performance.now() - startedMs < 30_000; ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      remaining = await limiter.peek(key).then(
        ({ policies: [policy] }) => policy.remaining,
        () => full,
      );
      if (remaining < full) return { remaining, tookMs: performance.now() - startedMs };
    }
    return { remaining: full };
  },
  async close() {
    await limiter.close();
    await store.close();
    process.disconnect();
  },
};

process.on("message", async ({ operation, ...rest }) => {
  const answer = await operations[operation](rest);
  if (process.connected) process.send({ answer });
});
process.send("ready");
