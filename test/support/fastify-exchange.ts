import type { FastifyInstance } from "fastify";
import { onTestFinished } from "vitest";
import { type AskOptions, ask } from "./http-exchange.ts";

/** What of an answer the goldens look at. */
export interface FastifyAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Sends one request to an application. */
export type FastifyAsk = (options?: Omit<AskOptions, "agent">) => Promise<FastifyAnswer>;

/** The two ways into an application: without a network, and over a socket of loopback. Each closes it after the test. */
export const FASTIFY_WAYS: Readonly<Record<string, (app: FastifyInstance) => Promise<FastifyAsk>>> = {
  inject: async (app) => {
    onTestFinished(() => app.close());
    return async ({ method = "GET", path = "/", headers = {}, body } = {}) => {
      const payload = body === undefined ? {} : { payload: body };
      const answer = await app.inject({ method: method as "GET", url: path, headers: { ...headers }, ...payload });
      return { status: answer.statusCode, body: answer.body, headers: answer.headers };
    };
  },
  "a socket": async (app) => {
    onTestFinished(() => app.close());
    await app.listen({ port: 0, host: "127.0.0.1" });
    return (options) => ask(app.server, options);
  },
};

/** The fields of an answer that belong to limits. */
export function fieldsOf({ headers }: FastifyAnswer): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => /^(?:x-)?ratelimit|^retry-after$/.test(name)));
}
