// A process with one limiter under load. Afterwards it tells of each decision what it was and how long it took.
import { subscribe } from "node:diagnostics_channel";
import { answerFleet } from "@spillway/testkit";
import { Cluster, Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import { createClient, createCluster } from "redis";
import { createRateLimiter, redisStore } from "spillway";
import { LoadRun } from "./load-run.mjs";
import { nowMs } from "./loop-delay.mjs";

const MOST_ERRORS = 50;
const WARM_DECISIONS = 2_000;
const WARM_KEYS = 8;
const WARM_WITHIN_MS = 5_000;

const crashes = [];
const warnings = [];
const changes = [];
const storeErrors = new Set();
process.on("unhandledRejection", (reason) => crashes.push(`unhandledRejection: ${reason?.stack ?? reason}`));
process.on("uncaughtException", (error) => crashes.push(`uncaughtException: ${error?.stack ?? error}`));
process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`));
subscribe("spillway:store-error", ({ message }) => {
  if (storeErrors.size < MOST_ERRORS) storeErrors.add(message);
});

/** Clients that nobody connects: the store connects a duplicate. */
const DRIVERS = {
  ioredis: (options) => new Redis({ ...options, lazyConnect: true }),
  "ioredis Cluster": ({ nodes }) => new Cluster(nodes, { lazyConnect: true }),
  iovalkey: (options) => new Valkey({ ...options, lazyConnect: true }),
  "node-redis": ({ host, port, username, password }) => createClient({ socket: { host, port }, username, password }),
  "node-redis Cluster": ({ nodes }) => createCluster({ rootNodes: nodes.map((socket) => ({ socket })) }),
};

/** The policies of a key by its first part; the same object each time for the same tier. */
function policiesOf(tiers) {
  if (tiers.length === 1) return tiers[0].policies;
  const byName = new Map(tiers.map(({ name, policies, common }) => [name, common ? [...policies, common] : policies]));
  return (key) => byName.get(key.slice(0, key.indexOf("/")));
}

let limiter;
let store;
let load;
let firstTier;
let missedBefore = 0;

const operations = {
  open({ driver, redis, tiers, limiter: options }) {
    const onStateChange = (change) => changes.push({ atMs: nowMs(), ...change });
    const client = DRIVERS[driver](redis);
    client.on("error", () => {});
    firstTier = tiers[0].name;
    store = redisStore(client);
    limiter = createRateLimiter({ ...options, policies: policiesOf(tiers), store, onStateChange });
  },
  async warm() {
    const untilMs = nowMs() + WARM_WITHIN_MS;
    for (let decided = 0; decided < WARM_DECISIONS && nowMs() < untilMs; ) {
      const each = Array.from({ length: WARM_KEYS }, (_value, index) => `${firstTier}/warm/${process.pid}-${index}`);
      const decisions = await Promise.all(each.map((key) => limiter.consume(key)));
      decided += decisions.filter(({ degraded }) => !degraded).length;
    }
    changes.length = 0;
    missedBefore = limiter.stats().storeMisses;
  },
  load(options) {
    load = new LoadRun(limiter, options);
  },
  stats: () => limiter.stats(),
  block({ ms }) {
    const untilMs = performance.now() + ms;
    while (performance.now() < untilMs);
  },
  async finish({ withinMs }) {
    const decisions = await load.finish(withinMs);
    const stats = limiter.stats();
    const missed = stats.storeMisses - missedBefore;
    return { decisions, stats, missed, changes, warnings, crashes, storeErrors: [...storeErrors] };
  },
  async close() {
    await limiter.close();
    await store.close();
  },
};

answerFleet(({ operation, ...rest }) => operations[operation](rest));
