import { spillway } from "@spillway/fastify";
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from "fastify";
import type { PolicyOptions, RateLimiter, StateChange, Store } from "spillway";
import { DECISION_FIELD, writeDecisionNote } from "./decision-note.ts";
import { DecisionTimer } from "./decision-timer.ts";
import { modeNamed } from "./modes.ts";

/** What a server needs to know; it crosses process borders as JSON. */
export interface ServerSettings {
  readonly modes: readonly string[];
  /** The limit of each mode; its name is the mode's. */
  readonly policy: Omit<PolicyOptions, "name">;
  readonly workers: number;
}

/** A Fastify application with one limited route per mode. */
export interface DemoServer {
  readonly app: FastifyInstance;
  /** Stops listening and closes the limiters; the stores are the caller's. */
  close(): Promise<void>;
}

/** What a server has from its process, and tells it. */
export interface ServerParts {
  /** The store for a mode; asked for only by modes that share one. */
  storeOf(mode: string): Store;
  /** Told when a mode loses its store or finds it again. */
  onStateChange?(mode: string, change: StateChange): void;
  /** Told of every limited answer. */
  onAnswer?(mode: string, allowed: boolean, degraded: boolean): void;
}

/**
 * Makes the application: `GET /<mode>` is limited per `x-api-key` as that mode does it. Every answer names its worker in the
 * field `x-worker`, and says in `x-decision` how it was decided.
 */
export async function createServer(settings: ServerSettings, name: string, parts: ServerParts): Promise<DemoServer> {
  const app = Fastify({ forceCloseConnections: true });
  const limiters: RateLimiter[] = [];
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("x-worker", name);
  });
  for (const mode of settings.modes) {
    const limiter = modeNamed(mode).createLimiter({
      policy: { ...settings.policy, name: mode },
      workers: settings.workers,
      store: () => parts.storeOf(mode),
      ...(parts.onStateChange === undefined ? {} : { onStateChange: (change) => parts.onStateChange?.(mode, change) }),
    });
    limiters.push(limiter);
    await app.register(limitedRoute(mode, name, limiter, parts));
  }
  return {
    app,
    async close() {
      await app.close();
      await Promise.all(limiters.map((limiter) => limiter.close()));
    },
  };
}

function limitedRoute(mode: string, worker: string, limiter: RateLimiter, parts: ServerParts): FastifyPluginAsync {
  return async (scope) => {
    const timer = new DecisionTimer();
    await scope.register(spillway, { limiter: timer.wrap(limiter), key: (request) => apiKeyOf(request.headers) });
    scope.addHook("onSend", (request, reply, _payload, done) => {
      const decision = request.spillway;
      if (decision !== null) {
        reply.header(DECISION_FIELD, writeDecisionNote(decision, timer.durationMsOf(decision)));
        parts.onAnswer?.(mode, decision.allowed, decision.degraded);
      }
      done();
    });
    scope.get(`/${mode}`, async () => ({ worker, mode }));
  };
}

function apiKeyOf(headers: Readonly<Record<string, string | string[] | undefined>>): string {
  const key = headers["x-api-key"];
  return typeof key === "string" && key !== "" ? key : "no-key";
}
