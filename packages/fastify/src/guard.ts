import { type QuotaStatus, refusalStatus, writeLegacyFields, writeRetryAfter } from "@spillway/http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AskPart, ConsumeOptions, Decision, RefusedDecision } from "spillway";
import { logRejection } from "./log-rejection.ts";
import { noteTold, toldStatuses } from "./request-notes.ts";
import type { RouteRule } from "./route-rule.ts";
import { thrownError } from "./thrown-error.ts";

/** Goes on with the request, or to the error handler. */
export type Done = (error?: Error) => void;

/** A hook: calls `done` for a request that goes in, and sends the refusal for one that does not. */
export type Guard = (request: FastifyRequest, reply: FastifyReply, done: Done) => void;

type Asked = string | readonly AskPart[];

/**
 * Makes the hook of a route. A decision that local state can give is taken and answered in the same turn, without a promise.
 * What `key`, `cost` and other functions of the user throw goes to the error handler.
 */
export function createGuard(rule: RouteRule): Guard {
  const { limiter, askedOf, optionsOf, skipsPreflights, isAllowListed, checks } = rule;
  return function spillwayGuard(request, reply, done) {
    let asked: Asked | undefined;
    let options: ConsumeOptions | undefined;
    let decision: Decision | undefined;
    let goesIn = true;
    // Nothing in here may call `done`: what a handler throws would look like a fault of the limiter.
    try {
      if (!(skipsPreflights && isPreflight(request)) && isAllowListed?.(request) !== true) {
        asked = askedOf(request);
        options = optionsOf(request);
        if (checks.isLooking) checks.note(request, keyOf(asked));
        decision = banned(rule, asked) ?? limiter.consumeNow(asked as string, options);
        if (decision !== undefined) goesIn = answer(rule, asked, decision, request, reply);
      }
    } catch (error) {
      // Whoever has hung up has no address any more, and no use for an answer.
      if (!isGone(request, reply)) fail(rule, error, done);
      return;
    }
    if (asked !== undefined && decision === undefined) decideLater(rule, asked, options, request, reply, done);
    else if (goesIn) done();
  };
}

function keyOf(asked: Asked): string {
  return typeof asked === "string" ? asked : (asked[0]?.key ?? "");
}

/** Makes the hook for requests that find no route. One that a route has counted already, and then gave up, is not counted twice. */
export function createNotFoundGuard(rule: RouteRule): Guard {
  const guard = createGuard(rule);
  return function spillwayNotFoundGuard(request, reply, done) {
    if (request.is404 && request.spillway === null) guard(request, reply, done);
    else done();
  };
}

/** Whether nobody waits for the reply any more. */
function isGone(request: FastifyRequest, reply: FastifyReply): boolean {
  return reply.raw.destroyed || request.raw.socket?.destroyed === true;
}

/**
 * `request.signal` is not passed on: its first use starts a watch on the request's body, which then aborts the signal for
 * the handler too as soon as the body is read. The limiter's deadline bounds the wait.
 */
function decideLater(
  rule: RouteRule,
  asked: Asked,
  options: ConsumeOptions | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  done: Done,
): void {
  // Someone else may have replied meanwhile, a handler timeout for one: headers cannot be set any more.
  const isOver = (): boolean => reply.sent || reply.raw.headersSent || isGone(request, reply);
  const failed = (error: unknown): void => {
    if (!isOver()) fail(rule, error, done);
  };
  const decided = (decision: Decision): void => {
    if (isOver()) return;
    let goesIn: boolean;
    try {
      goesIn = answer(rule, asked, decision, request, reply);
    } catch (error) {
      fail(rule, error, done);
      return;
    }
    if (goesIn) done();
  };
  rule.limiter.consume(asked as string, options).then(decided, failed);
}

/** Puts a decision on the request and the reply, and sends a refusal. Returns whether the request goes in. */
function answer(rule: RouteRule, asked: Asked, told: Decision, request: FastifyRequest, reply: FastifyReply): boolean {
  const decision = counted(rule, asked, rule.narrow(told));
  request.spillway = decision;
  if (!rule.dryRun && decision.policies.length > 0) writeFields(rule, decision.policies, request, reply);
  const refusal = decision.allowed ? decision.waived : decision;
  if (refusal !== undefined && rule.onRefused !== undefined)
    logRejection(rule.onRefused(request, refusal), "onRefused", request);
  if (decision.allowed || rule.dryRun) return true;
  refuse(rule, decision, request, reply);
  return false;
}

/** The refusal of a caller who is shut out; the limiter is not asked. */
function banned(rule: RouteRule, asked: Asked): RefusedDecision | undefined {
  if (rule.bans === undefined || rule.bans.size === 0 || rule.dryRun) return undefined;
  return rule.bans.find(offenderOf(asked), performance.now());
}

/** Counts a refusal towards a ban. Those of an outage do not count: everybody gets them. */
function counted(rule: RouteRule, asked: Asked, decision: Decision): Decision {
  if (rule.bans === undefined || rule.dryRun || decision.allowed || decision.degraded) return decision;
  return rule.bans.note(offenderOf(asked), decision, performance.now());
}

/** Who is shut out: who has all of the same keys. By one of them alone, a policy that all share would shut out everybody. */
function offenderOf(asked: Asked): string {
  return typeof asked === "string" ? `key ${asked}` : `keys ${JSON.stringify(asked.map(({ key }) => key))}`;
}

/** Several registrations can guard one route: the draft's fields are lists and name the policies of all. */
function writeFields(
  rule: RouteRule,
  policies: readonly QuotaStatus[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const earlier = noteTold(request, policies);
  if (rule.fields !== undefined) {
    const fields = rule.fields.fieldsOf(policies);
    const rateLimit = fields.rateLimit(policies);
    if (earlier === undefined) reply.header("ratelimit-policy", fields.rateLimitPolicy).header("ratelimit", rateLimit);
    else appendFields(reply, fields.rateLimitPolicy, rateLimit);
  }
  if (rule.legacyHeaders === false) return;
  const statuses = toldStatuses(request) ?? policies;
  reply.headers({ ...writeLegacyFields(statuses, rule.legacyHeaders, Date.now()) });
}

function appendFields(reply: FastifyReply, rateLimitPolicy: string, rateLimit: string): void {
  const earlierPolicy = reply.getHeader("ratelimit-policy");
  const earlier = reply.getHeader("ratelimit");
  reply.header("ratelimit-policy", earlierPolicy ? `${earlierPolicy},${rateLimitPolicy}` : rateLimitPolicy);
  reply.header("ratelimit", earlier ? `${earlier},${rateLimit}` : rateLimit);
}

function refuse(rule: RouteRule, decision: RefusedDecision, request: FastifyRequest, reply: FastifyReply): void {
  // Before the status is set: were it to throw after, the error would go out as 429.
  const body = rule.bodyOf.build(request, decision);
  const retryAfter = decision.reason === "never" ? undefined : writeRetryAfter(decision.retryAfterMs);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  // Clients that retry a 429 without Retry-After after a wait of their own are told that none helps.
  if (decision.reason === "never") reply.header("x-should-retry", "false");
  if (rule.bodyOf.contentType !== undefined) reply.type(rule.bodyOf.contentType);
  reply.code(refusalStatus(decision)).send(body);
}

/** A dry run stands in nobody's way: its faults are a warning. */
function fail(rule: RouteRule, thrown: unknown, done: Done): void {
  if (!rule.dryRun) {
    done(thrownError(thrown, undecided));
    return;
  }
  rule.noteFault(thrown);
  done();
}

function undecided(thrown: string): string {
  return `The rate limit could not be decided: ${thrown} was thrown, which is no error.`;
}

/** Whether a browser asks for leave to send the real request. */
export function isPreflight(request: FastifyRequest): boolean {
  if (request.method !== "OPTIONS") return false;
  const headers = request.headers;
  return headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}
