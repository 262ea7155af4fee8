import { setAnswerFields } from "./answer-fields.ts";
import { show, thrownText } from "./argument-error.ts";
import { isGone, isPreflight, type LimitedRequest, type LimitedResponse, type Next } from "./limited-exchange.ts";
import type { DecisionLike, LimiterCallOptions, RefusalLike } from "./limiter-like.ts";
import {
  type MiddlewareSettings,
  type RateLimitMiddlewareOptions,
  resolveMiddlewareOptions,
} from "./middleware-options.ts";
import { PROBLEM_CONTENT_TYPE } from "./problem-document.ts";
import { refusalProblem, refusalStatus } from "./refusal-problem.ts";
import { addNote, hasNoteBy } from "./request-note.ts";
import { writeRetryAfter } from "./retry-after.ts";
import { dropRejection, isThenable } from "./thenable.ts";

/** Middleware for Express, or for a `node:http` server that calls it with what comes next. */
export type RateLimitMiddleware<
  Request extends LimitedRequest = LimitedRequest,
  Response extends LimitedResponse = LimitedResponse,
> = (request: Request, response: Response, next: Next) => void;

/**
 * Makes middleware that lets a request in, with the `RateLimit` fields on its answer, or answers 429 with `Retry-After` and a
 * problem document (503 where the limiter's store cannot answer and nobody is let in meanwhile). `next` is called without an
 * argument for a request that goes in, and with an error for one about which nothing can be decided (what `key`, `cost`, `skip`
 * or the limiter throw): such a request is never let in. It is not called for a refused request, nor when the caller has gone
 * meanwhile.
 *
 * Mounted twice on the way of a request, it counts once; two of them each count.
 * @throws TypeError `ERR_SPILLWAY_INVALID_OPTION` for bad options; RangeError for an `ipv6Subnet` outside 1 to 128.
 */
export function rateLimitMiddleware<
  Request extends LimitedRequest = LimitedRequest,
  Response extends LimitedResponse = LimitedResponse,
  Decision extends DecisionLike = DecisionLike,
>(options: RateLimitMiddlewareOptions<Request, Response, Decision>): RateLimitMiddleware<Request, Response> {
  const settings = resolveMiddlewareOptions(options as unknown as RateLimitMiddlewareOptions);
  return function spillwayRateLimit(request, response, next) {
    guard(settings, request, response, next);
  };
}

/** One request on its way. */
interface Visit {
  readonly settings: MiddlewareSettings;
  readonly request: LimitedRequest;
  readonly response: LimitedResponse;
  readonly next: Next;
  readonly key: string;
}

/** A decision that local state can give is taken and answered in the same turn, without a promise. */
function guard(settings: MiddlewareSettings, request: LimitedRequest, response: LimitedResponse, next: Next): void {
  if (isGone(request, response)) return;
  if (response.headersSent || hasNoteBy(request, settings)) {
    next();
    return;
  }
  let visit: Visit | undefined;
  let options: LimiterCallOptions | undefined;
  let decision: DecisionLike | undefined;
  // Nothing in here may call `next`: what a handler throws would look like a fault of the limiter.
  try {
    if (!isExempt(settings, request)) {
      visit = { settings, request, response, next, key: settings.keyOf(request) };
      options = settings.costOf(request);
      decision = settings.limiter.consumeNow(visit.key, options);
    }
  } catch (error) {
    fail(settings, error, next);
    return;
  }
  if (visit === undefined) next();
  else if (decision === undefined) decideLater(visit, options);
  else conclude(visit, decision);
}

function isExempt(settings: MiddlewareSettings, request: LimitedRequest): boolean {
  if (!settings.preflights && isPreflight(request)) return true;
  const skips = settings.skips?.(request);
  if (!isThenable(skips)) return Boolean(skips);
  dropRejection(skips);
  throw new TypeError("Option skip must return at once whether a request is left alone, got a promise.");
}

/** Waits for the store, by the limiter's deadline at most; a caller who goes away meanwhile is not waited for. */
function decideLater(visit: Visit, options: LimiterCallOptions | undefined): void {
  const { settings, request, response, next, key } = visit;
  const departure = new AbortController();
  const leave = (): void => departure.abort();
  response.once("close", leave);
  let deciding: Promise<DecisionLike>;
  try {
    deciding = settings.limiter.consume(key, { ...options, signal: departure.signal });
  } catch (error) {
    deciding = Promise.reject(error);
  }
  const isOver = (): boolean => {
    response.off("close", leave);
    // Someone else may have replied meanwhile, a timeout for one: headers cannot be set any more.
    return departure.signal.aborted || response.headersSent || isGone(request, response);
  };
  deciding.then(
    (decision) => {
      if (!isOver()) conclude(visit, decision);
    },
    (error: unknown) => {
      if (!isOver()) fail(settings, error, next);
    },
  );
}

function conclude(visit: Visit, decision: DecisionLike): void {
  let goesIn: boolean;
  try {
    goesIn = answer(visit, decision);
  } catch (error) {
    fail(visit.settings, error, visit.next);
    return;
  }
  if (goesIn) visit.next();
}

/** Notes a decision, tells the caller, and sends a refusal. Returns whether the request goes in. */
function answer(visit: Visit, decision: DecisionLike): boolean {
  const { settings, request, response, key } = visit;
  const note = addNote(request, decision, settings, !settings.dryRun);
  if (!settings.dryRun) setAnswerFields(settings.fields, response, note, key);
  const refusal = decision.allowed ? decision.waived : decision;
  if (refusal !== undefined) tellRefusal(settings, request, refusal);
  if (decision.allowed || settings.dryRun) return true;
  refuse(visit, decision);
  return false;
}

function tellRefusal(settings: MiddlewareSettings, request: LimitedRequest, refusal: RefusalLike): void {
  const told = settings.onRefused?.(request, refusal);
  if (isThenable(told))
    told.then(undefined, (error: unknown) => settings.warnOnce(`Option onRefused rejected: ${thrownText(error)}`));
}

function refuse({ settings, request, response, next }: Visit, refusal: RefusalLike): void {
  const earlierStatus = response.statusCode;
  response.statusCode = refusalStatus(refusal);
  const waitMs = refusal.reason === "never" ? Number.POSITIVE_INFINITY : refusal.retryAfterMs;
  const retryAfter = writeRetryAfter(waitMs, settings.retryAfter);
  if (retryAfter !== undefined) response.setHeader("Retry-After", retryAfter);
  // Clients that retry a 429 without Retry-After after a wait of their own are told that none helps.
  if (refusal.reason === "never") response.setHeader("X-Should-Retry", "false");
  if (settings.respond === undefined) {
    const body = JSON.stringify(refusalProblem(refusal));
    response.setHeader("Content-Type", PROBLEM_CONTENT_TYPE);
    // Said aloud, since Node would leave it out of the answer to a HEAD.
    response.setHeader("Content-Length", String(Buffer.byteLength(body)));
    response.end(body);
    return;
  }
  const undo = (): void => {
    if (response.headersSent) return;
    response.statusCode = earlierStatus;
    response.removeHeader("Retry-After");
    response.removeHeader("X-Should-Retry");
  };
  try {
    const sending = settings.respond(request, response, refusal, next);
    if (isThenable(sending))
      sending.then(undefined, (error: unknown) => {
        undo();
        fail(settings, error, next);
      });
  } catch (error) {
    undo();
    throw error;
  }
}

/** A dry run stands in nobody's way: its faults are one warning. */
function fail(settings: MiddlewareSettings, error: unknown, next: Next): void {
  if (!settings.dryRun) {
    next(asError(error));
    return;
  }
  settings.warnOnce(`The rate limit's dry run could not decide: ${thrownText(error)}`);
  next();
}

/** `next` takes `undefined`, and Express the text `"route"`, for leave to go on; so what is thrown must be an object. */
function asError(thrown: unknown): unknown {
  if (typeof thrown === "object" && thrown !== null) return thrown;
  return new TypeError(`The rate limit could not be decided: ${show(thrown)} was thrown, which is no error.`, {
    cause: thrown,
  });
}
