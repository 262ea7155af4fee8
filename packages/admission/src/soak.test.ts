import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { type Admission, createAdmission, enterWithReply, type Order } from "./index.ts";
import { turnClock } from "./test-support.ts";

/** `SPILLWAY_SOAK=1` makes it a million requests. */
const REQUESTS = process.env.SPILLWAY_SOAK === "1" ? 1_000_000 : 20_000;
const BATCH = 50;
const MOST_GROWTH_BYTES = 2 * 1024 * 1024;
const SEED = 20_261_129;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** The same numbers each time. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A reply that closes when it is told to, on a connection that it may share with others. */
class Reply extends EventEmitter {
  destroyed = false;
  closed = false;
  writableFinished = false;
  writableEnded = false;
  statusCode = 200;
  readonly socket: EventEmitter | null;

  constructor(socket: EventEmitter | null) {
    super();
    this.socket = socket;
  }

  writeHead(): this {
    return this;
  }

  close(isFinished: boolean): void {
    this.writableFinished = isFinished;
    this.writableEnded = isFinished;
    this.closed = true;
    this.emit("close");
  }
}

/** Callers of every kind. What they have begun is finished, in one way or another, some batches later. */
class Crowd {
  readonly #admission: Admission;
  readonly #random: () => number;
  #endings: (() => void)[] = [];

  constructor(admission: Admission, random: () => number) {
    this.#admission = admission;
    this.#random = random;
  }

  arrive(): void {
    const kinds = [() => this.#acquire(), () => this.#run(), () => this.#visit(false), () => this.#visit(true)];
    (kinds[Math.floor(this.#random() * kinds.length)] as () => void)();
  }

  /** Ends about so large a part of what is open. */
  end(part: number): void {
    const open = this.#endings;
    this.#endings = [];
    for (const ending of open) {
      if (this.#random() < part) ending();
      else this.#endings.push(ending);
    }
  }

  #acquire(): void {
    const abort = this.#random() < 0.5 ? new AbortController() : undefined;
    if (abort !== undefined) this.#endings.push(() => abort.abort());
    const deadlineMs = this.#random() < 0.3 ? this.#random() * 200 : Number.POSITIVE_INFINITY;
    const cost = this.#random() < 0.1 ? 3 : 1;
    const asked = { cost, deadlineMs, ...(abort === undefined ? {} : { signal: abort.signal }) };
    void this.#admission.acquire(asked).then((permit) => {
      if (!permit.admitted) return;
      this.#endings.push(() => {
        permit.release();
        permit.release("abandoned");
      });
    });
  }

  #run(): void {
    const work = () =>
      new Promise<void>((resolve, reject) => {
        this.#endings.push(this.#random() < 0.5 ? resolve : () => reject(new Error("failed")));
      });
    const thrown = (): never => {
      throw new Error("thrown");
    };
    this.#admission.run(this.#random() < 0.3 ? thrown : work).catch(() => {});
  }

  #visit(isPipelined: boolean): void {
    const socket = new EventEmitter();
    const reply = new Reply(isPipelined ? null : socket);
    const request = { socket } as unknown as IncomingMessage;
    enterWithReply(this.#admission, undefined, request, reply as unknown as ServerResponse, () => {});
    this.#endings.push(() => {
      if (isPipelined) socket.emit("close");
      else reply.close(this.#random() < 0.5);
      expect(reply.listenerCount("close")).toBe(0);
    });
  }
}

it(`${REQUESTS} requests that are served, refused, aborted, thrown out of or cut off leave nothing behind`, async () => {
  const clock = turnClock();
  const random = randomFrom(SEED);
  const admission = createAdmission({ slots: 8, lineMs: 50, guessMs: 20, waitMs: 60, clock, random });
  const crowd = new Crowd(admission, random);
  let flatFrom = 0;
  for (let sent = 0; sent < REQUESTS; sent += BATCH) {
    for (let i = 0; i < BATCH; i++) {
      crowd.arrive();
      if (random() < 0.1) clock.turn();
    }
    admission.tune({ order: (["fifo", "lifo", "adaptive"] as const)[sent % 3] as Order });
    clock.advance(random() * (sent % 500 === 0 ? 100 : 20));
    await undefined;
    crowd.end(0.5);
    if (sent <= REQUESTS / 5 && sent + BATCH > REQUESTS / 5) {
      collectGarbage();
      flatFrom = process.memoryUsage().heapUsed;
    }
  }
  for (let round = 0; round < 100; round++) {
    crowd.end(1);
    clock.advance(100);
    for (let hop = 0; hop < 5; hop++) await undefined;
  }
  const { active, waiting, admitted, shed, wasted } = admission.stats();
  expect([active, waiting, clock.pendingTimers, clock.pendingTurns]).toEqual([0, 0, 0, 0]);
  for (const reason of ["line_full", "waited_too_long", "deadline", "cancelled"] as const)
    expect(shed[reason]).toBeGreaterThan(REQUESTS / 2000);
  expect(wasted).toBeGreaterThan(REQUESTS / 2000);
  expect(admitted + Object.values(shed).reduce((sum, count) => sum + count, 0)).toBe(REQUESTS);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - flatFrom).toBeLessThan(MOST_GROWTH_BYTES);
}, 300_000);
