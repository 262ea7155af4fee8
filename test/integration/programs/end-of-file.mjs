// Uses limiters as WHAT says, closes nothing, and comes to the end of the file. Prints what it was told, and how long the
// process lived after that.
import { once } from "node:events";
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const { WHAT, REDIS_PORT } = process.env;
const policies = { name: "p", limit: 1000, period: "1s" };
const overRedis = (options) => {
  const client = new Redis({ host: "127.0.0.1", port: Number(REDIS_PORT), lazyConnect: true });
  return createRateLimiter({ store: redisStore(client), policies, onStateChange: () => {}, ...options });
};
const tell = ({ allowed, source }) => console.log(JSON.stringify({ allowed, source }));

const uses = {
  async memory() {
    tell(await createRateLimiter({ policies }).consume("k"));
  },
  async unused() {
    overRedis({});
  },
  async redis() {
    tell(await overRedis({ deadlineMs: 5000 }).consume("k"));
  },
  async leases() {
    const limiter = overRedis({ deadlineMs: 5000 });
    for (let i = 0; i < 30; i++) await Promise.all(Array.from({ length: 10 }, () => limiter.consume("k")));
    tell(await limiter.consume("k"));
  },
  async refused() {
    const limiter = overRedis({ deadlineMs: 5000, policies: { name: "p", limit: 1, period: "30d" } });
    tell(await limiter.consume("k"));
    tell(await limiter.consume("k"));
  },
  async away() {
    const limiter = overRedis({ deadlineMs: 100 });
    for (let i = 0; i < 5; i++) tell(await limiter.consume(`k${i}`));
  },
  // Nothing but the callers themselves keeps the process up.
  async waiting() {
    const limiter = overRedis({ deadlineMs: 5000 });
    await limiter.consume("k");
    process.send("connected");
    await once(process, "message");
    for (let i = 0; i < 3; i++) limiter.consume("k").then(tell);
  },
};

await uses[WHAT]();
const endMs = performance.now();
process.once("exit", () => console.log(`lived ${Math.round(performance.now() - endMs)}`));
process.disconnect();
