// A process with one limiter that asks at the times it is given, whether or not earlier asks were answered. Afterwards it tells
// when each admission took place: by the server's clock where the store served it, else by the reading of the machine's clock
// on which the limiter decided.
import { subscribe } from "node:diagnostics_channel";
import { answerFleet, eventually } from "@spillway/testkit";
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const KEY = "fleet";
/** Asked for as the worker starts, for long enough that Redis hears of the process, and that this work is known to be over. */
const HELLO_KEY = "hello";
const HELLOS = 100;
const HELLO_PAUSE_MS = 3;
const SETTLED_AFTER_MS = 300;
const CONNECTED_WITHIN_MS = 5_000;
/** A decision comes within microseconds of the reading that it was made on, unless the process was kept from running. */
const FRESH_MS = 0.25;

/** Milliseconds of a clock that all processes of this machine share. */
const machineMs = () => Number(process.hrtime.bigint()) / 1e6;

const wrong = [];
process.on("unhandledRejection", (reason) => wrong.push(`unhandledRejection: ${reason?.stack ?? reason}`));
process.on("uncaughtException", (error) => wrong.push(`uncaughtException: ${error?.stack ?? error}`));
process.on("warning", ({ name, message }) => wrong.push(`${name}: ${message}`));

let readMs = 0;
/** As the limiter's own clock, with a note of what it said last. */
const clock = {
  monotonicMs() {
    readMs = machineMs();
    return readMs;
  },
  wallMs: () => Date.now(),
  startTimer(run, delayMs, keepAlive) {
    const timer = setTimeout(run, Math.max(0, delayMs));
    if (!keepAlive) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  afterTurn: setImmediate,
};

let store;
let limiter;
let answered = 0;
let staleReadings = 0;
const askedMs = [];
const leasedMs = [];
const servedUs = [];
const aloneMs = [];

/** The last reply that served anybody: how many it served, and how many of those were let in. */
let grant = { nowUs: 0, served: 0, letIn: 0 };

/** The store, with a look at its replies. One key has one call under way, so whom the store lets in, the last reply served. */
function watched(inner) {
  const take = async (call) => {
    const reply = await inner.take(call);
    const served = reply.served.reduce((sum, count) => sum + count, 0);
    if (served > 0) grant = { nowUs: reply.nowUs, served, letIn: 0 };
    return reply;
  };
  return new Proxy(inner, {
    get(target, name) {
      if (name === "take") return take;
      const member = target[name];
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

subscribe("spillway:decision", ({ key, allowed, source, degraded }) => {
  if (key !== KEY) return;
  answered++;
  if (!allowed) return;
  if (source === "store") {
    servedUs.push(grant.nowUs);
    if (++grant.letIn > grant.served) wrong.push(`the store let in ${grant.letIn} and had served ${grant.served}`);
    return;
  }
  if (machineMs() - readMs > FRESH_MS) staleReadings++;
  (degraded ? aloneMs : leasedMs).push(readMs);
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const operations = {
  /** Makes the limiter, and has it connected before it is asked. */
  async open({ redis, prefix, limiter: options }) {
    store = redisStore(new Redis({ ...redis, lazyConnect: true }), { prefix });
    limiter = createRateLimiter({ ...options, store: watched(store), clock, onStateChange: () => {} });
    await eventually(() => limiter.peek(KEY), { withinMs: CONNECTED_WITHIN_MS });
    for (let i = 0; i < HELLOS; i++) {
      await limiter.consume(HELLO_KEY);
      await pause(HELLO_PAUSE_MS);
    }
    await pause(SETTLED_AFTER_MS);
  },
  /** Asks at `dueMs` from `startMs` on, and waits `lingerMs` at most for the last answers. */
  async load({ startMs, dueMs, lingerMs }) {
    for (let next = 0; next < dueMs.length; await pause(1)) {
      for (const sinceMs = machineMs() - startMs; next < dueMs.length && dueMs[next] <= sinceMs; next++) {
        askedMs.push(machineMs());
        limiter.consume(KEY).catch((error) => wrong.push(String(error?.stack ?? error)));
      }
    }
    for (const untilMs = machineMs() + lingerMs; answered < askedMs.length && machineMs() < untilMs; ) await pause(5);
  },
  async close() {
    const unanswered = askedMs.length - answered;
    const stats = limiter.stats();
    await limiter.close();
    await store.close();
    const [asked, leased, served, alone] = [askedMs, leasedMs, servedUs, aloneMs].map((times) =>
      Float64Array.from(times),
    );
    return {
      askedMs: asked,
      leasedMs: leased,
      servedUs: served,
      aloneMs: alone,
      unanswered,
      staleReadings,
      wrong,
      stats,
    };
  },
};

answerFleet(({ operation, ...rest }) => operations[operation](rest));
