// A process with one limiter under a steady load. Afterwards it tells of each decision what it was and how long it took.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { answerFleet } from "@spillway/testkit";
import { Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createRateLimiter, redisStore } from "spillway";

const SOURCES = ["lease", "store", "denial-cache", "backstop", "open", "closed"];
const LOOP_RESOLUTION_MS = 1;
const LOOP_SLICE_MS = 20;
/** More microtasks than lie between a decision that is made at once and its callback. */
const MICROTASKS = 5;

/** Milliseconds of a clock that all processes of this machine share. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

const crashes = [];
const warnings = [];
const changes = [];
process.on("unhandledRejection", (reason) => crashes.push(`unhandledRejection: ${reason?.stack ?? reason}`));
process.on("uncaughtException", (error) => crashes.push(`uncaughtException: ${error?.stack ?? error}`));
process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`));

/** Clients that nobody connects: the store connects a duplicate. */
const DRIVERS = {
  ioredis: (options) => new Redis({ ...options, lazyConnect: true }),
  iovalkey: (options) => new Valkey({ ...options, lazyConnect: true }),
  "node-redis": ({ host, port, username, password }) => createClient({ socket: { host, port }, username, password }),
};

let limiter;
let store;
let load;

/** What is issued now and then so that `perSecond` decisions are asked for, open-loop: late ones are made up for. */
class Load {
  #perSecond;
  #keys;
  #startedMs = performance.now();
  #issued = 0;
  #timer;
  #pending = new Set();
  #records = [];
  #failures = [];
  #delays = [];
  #histogram = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  #slicer;

  constructor({ perSecond, keys }) {
    this.#perSecond = perSecond;
    this.#keys = keys;
    this.#histogram.enable();
    this.#slicer = setInterval(() => this.#slice(), LOOP_SLICE_MS);
    this.#tick();
  }

  #tick() {
    const due = Math.floor(((performance.now() - this.#startedMs) / 1000) * this.#perSecond);
    const issued = [];
    for (; this.#issued < due; this.#issued++) issued.push(this.#ask(`key-${this.#issued % this.#keys}`));
    void this.#markWaiting(issued);
    this.#timer = setTimeout(() => this.#tick(), 1);
  }

  #ask(key) {
    const record = { startedMs: nowMs(), tookMs: undefined, waited: false, decision: undefined };
    this.#records.push(record);
    this.#pending.add(record);
    const settled = () => {
      record.tookMs = nowMs() - record.startedMs;
      this.#pending.delete(record);
    };
    limiter.consume(key).then(
      (decision) => {
        settled();
        record.decision = decision;
      },
      (error) => {
        settled();
        this.#failures.push(String(error?.stack ?? error));
      },
    );
    return record;
  }

  /** Whoever is not answered before the next event of the loop waits. */
  async #markWaiting(issued) {
    for (let i = 0; i < MICROTASKS; i++) await undefined;
    for (const record of issued) record.waited = record.tookMs === undefined;
  }

  /** What the loop was late by since the last slice: as Node says, and by this timer, which may run before Node's has. */
  #slice() {
    const untilMs = nowMs();
    const ownMs = untilMs - (this.#delays.at(-1)?.untilMs ?? untilMs) - LOOP_SLICE_MS;
    const nodesMs = this.#histogram.max / 1e6 - LOOP_RESOLUTION_MS;
    this.#delays.push({ untilMs, lateMs: Math.max(0, ownMs, Number.isFinite(nodesMs) ? nodesMs : 0) });
    this.#histogram.reset();
  }

  /** By how much the event loop was late when a decision was asked for, and when it was made. */
  #lateWithin(fromMs, toMs) {
    const [from, to] = [this.#sliceOf(fromMs), this.#sliceOf(toMs)];
    return to - from < 2 ? this.#lateAt(from, to + 1) : this.#lateAt(from, from + 1) + this.#lateAt(to, to + 1);
  }

  /** The slice in which a time lies. A delay may be counted in the slice after the one in which it ended. */
  #sliceOf(ms) {
    let low = 0;
    let high = this.#delays.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#delays[middle].untilMs < ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #lateAt(first, last) {
    return Math.max(0, ...this.#delays.slice(first, last + 1).map(({ lateMs }) => lateMs));
  }

  /** Ends the load, waits for what is under way and gives a report of all. */
  async finish(withinMs) {
    clearTimeout(this.#timer);
    const untilMs = performance.now() + withinMs;
    while (this.#pending.size > 0 && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, 5));
    clearInterval(this.#slicer);
    this.#slice();
    this.#histogram.disable();
    const settled = this.#records.filter(({ decision }) => decision !== undefined);
    return {
      startedMs: Float64Array.from(settled, ({ startedMs }) => startedMs),
      tookMs: Float64Array.from(settled, ({ tookMs }) => tookMs),
      lateMs: Float64Array.from(settled, ({ startedMs, tookMs }) => this.#lateWithin(startedMs, startedMs + tookMs)),
      waited: Uint8Array.from(settled, ({ waited }) => (waited ? 1 : 0)),
      allowed: Uint8Array.from(settled, ({ decision }) => (decision.allowed ? 1 : 0)),
      sources: settled.map(({ decision }) => decision.source),
      keys: settled.map(({ decision }) => decision.key),
      malformed: settled
        .filter(({ decision }) => faultOf(decision) !== undefined)
        .map(({ decision }) => faultOf(decision)),
      failures: this.#failures,
      unanswered: this.#pending.size,
    };
  }
}

/** What is wrong with a decision in itself. */
function faultOf(decision) {
  const { allowed, source, degraded, remaining, limit } = decision;
  if (!SOURCES.includes(source)) return `unknown source ${source}`;
  if (degraded !== ["backstop", "open", "closed"].includes(source)) return `degraded ${degraded} from ${source}`;
  if (!(remaining >= 0 && remaining <= limit)) return `remaining ${remaining} of ${limit}`;
  if (!allowed && !(decision.retryAfterMs > 0)) return `refused, retry after ${decision.retryAfterMs} ms`;
  return undefined;
}

const operations = {
  open({ driver, redis, limiter: options }) {
    const onStateChange = (change) => changes.push({ atMs: nowMs(), ...change });
    const client = DRIVERS[driver](redis);
    client.on("error", () => {});
    store = redisStore(client);
    limiter = createRateLimiter({ ...options, store, onStateChange });
  },
  load(options) {
    load = new Load(options);
  },
  stats: () => limiter.stats(),
  block({ ms }) {
    const untilMs = performance.now() + ms;
    while (performance.now() < untilMs);
  },
  async finish({ withinMs }) {
    const decisions = await load.finish(withinMs);
    return { decisions, stats: limiter.stats(), changes, warnings, crashes };
  },
  async close() {
    await limiter.close();
    await store.close();
  },
};

answerFleet(({ operation, ...rest }) => operations[operation](rest));
