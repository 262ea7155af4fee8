// Uses a store once, or tries to, and has nothing more to do: it must end by itself. Its client is one that nobody connects.
import * as ioredis from "ioredis";
import * as iovalkey from "iovalkey";
import { createClient, createCluster } from "redis";
import { createRateLimiter, redisStore } from "spillway";

const [kind, driver, target] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])];
const { Redis, Cluster } = driver === "iovalkey" ? iovalkey : ioredis;
const [seed] = target.seeds;

const clients = {
  standalone: () =>
    driver === "node-redis" ? createClient({ socket: seed }) : new Redis({ ...seed, lazyConnect: true }),
  sentinel: () => {
    const { sentinels, primaryName, addressMap } = target;
    return new Redis({ sentinels, name: primaryName, natMap: addressMap, lazyConnect: true, failoverDetector: true });
  },
  cluster: () => {
    const { seeds, addressMap } = target;
    if (driver !== "node-redis")
      return new Cluster(seeds, { natMap: addressMap, lazyConnect: true, slotsRefreshInterval: 1000 });
    return createCluster({ rootNodes: seeds.map((socket) => ({ socket })), nodeAddressMap: addressMap });
  },
};

const limiter = createRateLimiter({
  store: redisStore(clients[kind]()),
  policies: { name: "hour", limit: 100, period: "1h" },
  deadlineMs: 1000,
  onStateChange: () => {},
});
const decisions = await Promise.all(Array.from({ length: 10 }, (_, i) => limiter.consume(`key ${i}`)));
console.log(decisions.map(({ source }) => source).join());
