import { closeSync, openSync, writeSync } from "node:fs";
import { LoopDelay, nowMs } from "./loop-delay.mjs";

const SOURCES = ["lease", "store", "denial-cache", "backstop", "open", "closed"];
/** More microtasks than lie between a decision that is made at once and its callback. */
const MICROTASKS = 5;

/** Asks a limiter for so many decisions a second of each key, open-loop: what is late is made up for. */
export class LoadRun {
  #limiter;
  #keys;
  /** Where each admission is written at once, for a process that will not live to tell. */
  #journal;
  #startedMs = performance.now();
  #timer;
  #pending = new Set();
  #records = [];
  #failures = [];
  #delay = new LoopDelay();

  /** @param keys of this process: their name, what to ask for, and how often in a second. */
  constructor(limiter, { keys, journal }) {
    this.#limiter = limiter;
    this.#journal = journal === undefined ? undefined : openSync(journal, "a");
    // Not all keys at the same instant.
    this.#keys = keys.map((key, index) => ({ ...key, index, asked: 0, ahead: index / keys.length }));
    this.#delay.start();
    this.#tick();
  }

  #tick() {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const asked = [];
    for (const key of this.#keys) {
      const due = Math.floor(seconds * key.perSecond + key.ahead);
      for (; key.asked < due; key.asked++) asked.push(this.#ask(key));
    }
    void this.#markWaiting(asked);
    this.#timer = setTimeout(() => this.#tick(), 1);
  }

  #ask({ ask, index }) {
    const record = { index, startedMs: nowMs(), tookMs: undefined, waited: false, decision: undefined };
    this.#records.push(record);
    this.#pending.add(record);
    const settled = () => {
      record.tookMs = nowMs() - record.startedMs;
      this.#pending.delete(record);
    };
    this.#limiter.consume(ask).then(
      (decision) => {
        settled();
        record.decision = decision;
        if (this.#journal !== undefined && decision.allowed) this.#note(record);
      },
      (error) => {
        settled();
        this.#failures.push(String(error?.stack ?? error));
      },
    );
    return record;
  }

  #note({ index, startedMs, tookMs, decision }) {
    writeSync(this.#journal, `${this.#keys[index].key} ${startedMs} ${tookMs} ${decision.source}\n`);
  }

  /** Whoever is not answered before the next event of the loop waits. */
  async #markWaiting(asked) {
    for (let i = 0; i < MICROTASKS; i++) await undefined;
    for (const record of asked) record.waited = record.tookMs === undefined;
  }

  /** Ends the load, waits for what is under way and gives a report of all. */
  async finish(withinMs) {
    clearTimeout(this.#timer);
    const untilMs = performance.now() + withinMs;
    while (this.#pending.size > 0 && performance.now() < untilMs)
      await new Promise((resolve) => setTimeout(resolve, 5));
    this.#delay.stop();
    if (this.#journal !== undefined) closeSync(this.#journal);
    const settled = this.#records.filter(({ decision }) => decision !== undefined);
    const late = ({ startedMs, tookMs }) => this.#delay.lateWithin(startedMs, startedMs + tookMs);
    return {
      keys: this.#keys.map(({ key }) => key),
      keyOf: Uint16Array.from(settled, ({ index }) => index),
      startedMs: Float64Array.from(settled, ({ startedMs }) => startedMs),
      tookMs: Float64Array.from(settled, ({ tookMs }) => tookMs),
      lateMs: Float64Array.from(settled, late),
      mostLateMs: this.#delay.mostMs,
      waited: Uint8Array.from(settled, ({ waited }) => (waited ? 1 : 0)),
      allowed: Uint8Array.from(settled, ({ decision }) => (decision.allowed ? 1 : 0)),
      sources: settled.map(({ decision }) => decision.source),
      malformed: settled.flatMap(({ decision }) => faultOf(decision) ?? []),
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
