import { writeRetryAfter } from "@spillway/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ConsumeOptions, Decision, RefusedDecision } from "spillway";
import type { RouteRule } from "./route-rule.ts";

/** Goes on with the request, or to the error handler. */
export type Done = (error?: Error) => void;

/** A hook: calls `done` for a request that goes in, and sends the refusal for one that does not. */
export type Guard = (request: FastifyRequest, reply: FastifyReply, done: Done) => void;

/**
 * Makes the hook of a route. A decision that local state can give is taken and answered in the same turn, without a promise.
 * What `key` and `cost` throw goes to the error handler by Fastify's own catch around hooks.
 */
export function createGuard(rule: RouteRule): Guard {
  const { limiter, keyOf, costOf, skipsPreflights } = rule;
  return function spillwayGuard(request, reply, done) {
    if (skipsPreflights && isPreflight(request)) {
      done();
      return;
    }
    const key = keyOf(request);
    const options = costOf(request);
    const decision = limiter.consumeNow(key, options);
    if (decision === undefined) decideLater(rule, key, options, request, reply, done);
    else if (answer(rule, decision, request, reply)) done();
  };
}

/** Makes the hook for requests that find no route. One that a route has counted already, and then gave up, is not counted twice. */
export function createNotFoundGuard(rule: RouteRule): Guard {
  const guard = createGuard(rule);
  return function spillwayNotFoundGuard(request, reply, done) {
    if (request.is404 && request.spillway === null) guard(request, reply, done);
    else done();
  };
}

/**
 * `request.signal` is not passed on: its first use starts a watch on the request's body, which then aborts the signal for
 * the handler too as soon as the body is read. The limiter's deadline bounds the wait.
 */
function decideLater(
  rule: RouteRule,
  key: string,
  options: ConsumeOptions | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  rule.limiter.consume(key, options).then((decision) => {
    // Someone else may have replied meanwhile, a handler timeout for one: headers cannot be set any more.
    if (reply.sent || reply.raw.headersSent) return;
    let goesIn: boolean;
    try {
      goesIn = answer(rule, decision, request, reply);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (goesIn) done();
  }, done);
}

/** Puts a decision on the request and the reply, and sends a refusal. Returns whether the request goes in. */
function answer(rule: RouteRule, decision: Decision, request: FastifyRequest, reply: FastifyReply): boolean {
  const isFirst = request.spillway === null;
  request.spillway = decision;
  if (rule.fields !== undefined && decision.policies.length > 0) {
    const fields = rule.fields.fieldsOf(decision.policies);
    const rateLimit = fields.rateLimit(decision.policies);
    if (isFirst) reply.header("ratelimit-policy", fields.rateLimitPolicy).header("ratelimit", rateLimit);
    else appendFields(reply, fields.rateLimitPolicy, rateLimit);
  }
  if (decision.allowed) return true;
  refuse(rule, decision, request, reply);
  return false;
}

/** Several registrations can guard one route; the fields are lists and name the policies of all. */
function appendFields(reply: FastifyReply, rateLimitPolicy: string, rateLimit: string): void {
  const earlierPolicy = reply.getHeader("ratelimit-policy");
  const earlier = reply.getHeader("ratelimit");
  reply.header("ratelimit-policy", earlierPolicy ? `${earlierPolicy},${rateLimitPolicy}` : rateLimitPolicy);
  reply.header("ratelimit", earlier ? `${earlier},${rateLimit}` : rateLimit);
}

function refuse(rule: RouteRule, decision: RefusedDecision, request: FastifyRequest, reply: FastifyReply): void {
  rule.onRefused?.(request, decision);
  // Before the status is set: were it to throw after, the error would go out as 429.
  const body = rule.bodyOf.build(request, decision);
  const retryAfter = decision.reason === "never" ? undefined : writeRetryAfter(decision.retryAfterMs);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  if (rule.bodyOf.contentType !== undefined) reply.header("content-type", rule.bodyOf.contentType);
  reply.code(429).send(body);
}

function isPreflight(request: FastifyRequest): boolean {
  if (request.method !== "OPTIONS") return false;
  const headers = request.headers;
  return headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}
