import type { AddressInfo } from "node:net";
import { type Admission, type AdmissionOptions, createAdmission } from "@spillway/admission";
import Fastify, { type FastifyInstance, type RouteShorthandOptions } from "fastify";
import {
  type AskPart,
  type Clock,
  type ConsumeOptions,
  createRateLimiter,
  memoryStore,
  type PolicyOptions,
  type RateLimiter,
  type Timer,
} from "spillway";
import { onTestFinished } from "vitest";
import { type SpillwayAdmissionOptions, type SpillwayOptions, spillway, spillwayAdmission } from "./index.ts";

/** Whether the Fastify under test knows time limits of handlers, and with them the signal of a request. */
export const HAS_TIMEOUTS = "handlerTimeout" in Fastify().initialConfig;

/** Route options with a time limit, in ms, also where Fastify's types do not know it yet. */
export function handlerTimeout(ms: number): RouteShorthandOptions {
  return { handlerTimeout: ms } as RouteShorthandOptions;
}

/** A clock that stands still until it is told to go on. */
export class StillClock implements Clock {
  #nowMs = 1_000_000;

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  startTimer(): Timer {
    return { cancel: () => {} };
  }

  afterTurn(run: () => void): void {
    setImmediate(run);
  }
}

/** A real limiter in memory. */
export function memoryLimiter(clock: Clock, ...policies: PolicyOptions[]): RateLimiter {
  const limiter = createRateLimiter({ store: memoryStore({ clock }), policies, clock });
  onTestFinished(() => limiter.close());
  return limiter;
}

/** The same limiter, but one that always has to ask its store, as with Redis and no lease. */
export function withoutLocalState(limiter: RateLimiter): RateLimiter {
  return {
    policies: limiter.policies,
    consume: (asked: string | readonly AskPart[], options?: ConsumeOptions) =>
      limiter.consume(asked as string, options),
    consumeNow: () => undefined,
    peek: (key) => limiter.peek(key),
    refund: (decision) => limiter.refund(decision),
    penalize: (key, cost) => limiter.penalize(key, cost),
    block: (key, duration) => limiter.block(key, duration),
    reset: (key) => limiter.reset(key),
    stats: () => limiter.stats(),
    close: () => limiter.close(),
    [Symbol.asyncDispose]: () => limiter.close(),
  };
}

/** An app with the plugin and the given routes; each test's app is closed after it. */
export async function limitedApp(
  options: SpillwayOptions,
  addRoutes: (app: FastifyInstance) => void = (app) => app.get("/", async () => "in"),
  app: FastifyInstance = Fastify(),
): Promise<FastifyInstance> {
  onTestFinished(() => app.close());
  await app.register(spillway, options);
  addRoutes(app);
  await app.ready();
  return app;
}

/** Handlers that end when the test says so. */
export function held() {
  const ends: ((value: unknown) => void)[] = [];
  const handler = () => new Promise((resolve) => ends.push(resolve));
  return { ends, handler };
}

export interface Scene {
  readonly app: FastifyInstance;
  readonly admission: Admission;
}

export async function guarded(
  addRoutes: (app: FastifyInstance) => void,
  options: Partial<SpillwayAdmissionOptions> = {},
  admissionOptions: AdmissionOptions = { slots: 1, lineMs: 0 },
  app: FastifyInstance = Fastify(),
): Promise<Scene> {
  const admission = createAdmission(admissionOptions);
  onTestFinished(() => app.close());
  await app.register(spillwayAdmission, { admission, log: false, ...options });
  addRoutes(app);
  await app.ready();
  return { app, admission };
}

export async function listen(app: FastifyInstance): Promise<string> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.server.closeAllConnections());
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}
