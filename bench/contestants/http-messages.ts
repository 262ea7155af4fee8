/** How a service is limited. */
export type LimitedServerKind =
  | "bare"
  | "bareWithHeaders"
  | "floor"
  | "constant 429"
  | "spillway"
  | "@fastify/rate-limit"
  | "@fastify/rate-limit memory"
  | "rate-limiter-flexible";

/** How a service that is full says so. */
export type ShedServerKind =
  | "spillway Fastify plugin"
  | "spillway node:http"
  | "raw node:http"
  | "Fastify, raw reply in a hook"
  | "Fastify reply.send";

export type HttpServerKind = LimitedServerKind | ShedServerKind;

/** What a server process is asked. */
export type HttpServerRequest =
  | { readonly ask: "listen"; readonly kind: HttpServerKind; readonly redisUrl: string; readonly limit: number }
  | { readonly ask: "usage" };

/** Decisions of a limiter that needed no call. */
export interface LocalDecisions {
  readonly leased: number;
  readonly denied: number;
}

/** What it answers. */
export interface HttpServerReply {
  readonly port?: number;
  readonly error?: string;
  /** Of the process, since its start. */
  readonly cpuMs?: number;
  /** Decisions by a lease and by a remembered refusal since the start, where there are such. */
  readonly local?: LocalDecisions | undefined;
}

/** What every request that goes in is answered with. */
export const HTTP_BODY = "limited service";
