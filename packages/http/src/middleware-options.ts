import type { AnswerFieldSettings } from "./answer-fields.ts";
import { invalidOption } from "./argument-error.ts";
import { type CallerKeyFunction, createCallerKey } from "./caller-key.ts";
import type { AddressGroupingOptions } from "./client-address.ts";
import type { LegacyReset } from "./legacy-fields.ts";
import type { LimitedRequest, LimitedResponse, Next } from "./limited-exchange.ts";
import type { DecisionLike, LimiterCallOptions, LimiterLike, RefusalLike, RequestCost } from "./limiter-like.ts";
import { createPeerAddress } from "./peer-address.ts";
import { RateLimitWriter } from "./rate-limit-fields.ts";
import { createRequestCost } from "./request-cost.ts";
import type { RetryAfterOptions } from "./retry-after.ts";

/** The refusals among a limiter's decisions. */
export type RefusalOf<Decision extends DecisionLike> = Extract<Decision, { readonly allowed: false }>;

/** Options of {@link rateLimitMiddleware}. */
export interface RateLimitMiddlewareOptions<
  Request extends LimitedRequest = LimitedRequest,
  Response extends LimitedResponse = LimitedResponse,
  Decision extends DecisionLike = DecisionLike,
> {
  /** Decides and counts, such as one of `createRateLimiter`. The middleware never closes it. */
  readonly limiter: LimiterLike<Decision>;
  /** Who is calling, at once. Defaults to the address: `request.ip` of Express, else that of the connection. */
  readonly key?: CallerKeyFunction<Request>;
  /** How addresses are grouped where they are the key. Defaults to `{ ipv6Subnet: 56 }`. */
  readonly addresses?: AddressGroupingOptions;
  /** What a request costs, at once: a whole number, one per policy name, or a function. Defaults to 1. */
  readonly cost?: RequestCost | ((request: Request) => RequestCost);
  /** Whether a request is left alone, at once: neither counted nor refused, and without the fields. */
  readonly skip?: (request: Request) => unknown;
  /** Whether CORS preflights count, and can be refused. Defaults to false. */
  readonly preflights?: boolean;
  /** `"draft-8"`: `RateLimit` and `RateLimit-Policy` on every answer that was counted. `false`: neither. Defaults to `"draft-8"`. */
  readonly headers?: "draft-8" | false;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` too, the last as seconds from now or since 1970. Defaults to false. */
  readonly legacyHeaders?: LegacyReset | false;
  /** Gives what stands for a key in the fields, as `pk`: a hash, such as of `createKeyHash`. Left out: no `pk`. */
  readonly partitionKey?: (key: string) => string;
  /** The most that `Retry-After` is later than the wait, in ms, by chance. Defaults to 0. */
  readonly retryAfterJitterMs?: number;
  /** Decides, counts and tells `onRefused`, but lets everybody in and sends no fields. Defaults to false. */
  readonly dryRun?: boolean;
  /** Is told of each refusal before it is sent. What it throws goes to `next` in place of the refusal. */
  readonly onRefused?: (request: Request, refusal: RefusalOf<Decision>) => void;
  /** Sends a refusal in place of the problem document; the status and the fields are set, and may be changed. */
  readonly respond?: (request: Request, response: Response, refusal: RefusalOf<Decision>, next: Next) => unknown;
}

/** The same, checked and completed. Functions of users see their own types; inside, the least ones are enough. */
export interface MiddlewareSettings {
  readonly limiter: LimiterLike;
  readonly keyOf: (request: LimitedRequest) => string;
  readonly costOf: (request: LimitedRequest) => LimiterCallOptions | undefined;
  readonly skips: ((request: LimitedRequest) => unknown) | undefined;
  readonly preflights: boolean;
  readonly fields: AnswerFieldSettings;
  readonly retryAfter: RetryAfterOptions;
  readonly dryRun: boolean;
  readonly onRefused: ((request: LimitedRequest, refusal: RefusalLike) => unknown) | undefined;
  readonly respond:
    | ((request: LimitedRequest, response: LimitedResponse, refusal: RefusalLike, next: Next) => unknown)
    | undefined;
  /** Says the first fault that nobody else is told of, and no further one. */
  readonly warnOnce: (message: string) => void;
}

const FUNCTIONS = ["key", "skip", "partitionKey", "onRefused", "respond"] as const;
const BOOLEANS = ["preflights", "dryRun"] as const;
const MEMBERS: readonly string[] = [
  ...FUNCTIONS,
  ...BOOLEANS,
  ...["limiter", "addresses", "cost", "headers", "legacyHeaders", "retryAfterJitterMs"],
];
const LONGEST_JITTER_MS = 3_600_000;

/** @throws TypeError `ERR_SPILLWAY_INVALID_OPTION`; RangeError for an `ipv6Subnet` outside 1 to 128. */
export function resolveMiddlewareOptions(options: RateLimitMiddlewareOptions): MiddlewareSettings {
  requireMembers(options, "options", MEMBERS);
  const { limiter, headers = "draft-8", legacyHeaders = false, retryAfterJitterMs = 0, addresses } = options;
  if (typeof limiter?.consume !== "function" || typeof limiter.consumeNow !== "function")
    throw invalidOption("limiter", "a limiter with consume and consumeNow", limiter);
  for (const name of FUNCTIONS) requireType(options[name], name, "function");
  for (const name of BOOLEANS) requireType(options[name], name, "boolean");
  if (headers !== "draft-8" && headers !== false) throw invalidOption("headers", '"draft-8" or false', headers);
  if (legacyHeaders !== "delta" && legacyHeaders !== "epoch" && legacyHeaders !== false)
    throw invalidOption("legacyHeaders", '"delta", "epoch" or false', legacyHeaders);
  if (typeof retryAfterJitterMs !== "number" || !(retryAfterJitterMs >= 0 && retryAfterJitterMs <= LONGEST_JITTER_MS))
    throw invalidOption("retryAfterJitterMs", `a number from 0 to ${LONGEST_JITTER_MS}`, retryAfterJitterMs);
  if (addresses !== undefined) requireMembers(addresses, "addresses", ["ipv6Subnet"]);
  const writer = headers === false ? undefined : new RateLimitWriter();
  return Object.freeze({
    limiter,
    keyOf: createCallerKey({ key: options.key, addressOf: createPeerAddress(warn), addresses }),
    costOf: createRequestCost(options.cost),
    skips: options.skip,
    preflights: options.preflights ?? false,
    fields: Object.freeze({ writer, legacyHeaders, partitionOf: options.partitionKey }),
    retryAfter: Object.freeze({ jitterMs: retryAfterJitterMs }),
    dryRun: options.dryRun ?? false,
    onRefused: options.onRefused,
    respond: options.respond,
    warnOnce: once(warn),
  });
}

function once(tell: (message: string) => void): (message: string) => void {
  let told = false;
  return (message) => {
    if (!told) tell(message);
    told = true;
  };
}

function warn(message: string): void {
  process.emitWarning(message, "SpillwayWarning");
}

function requireMembers(value: unknown, option: string, known: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidOption(option, "an object", value);
  for (const name of Object.keys(value))
    if (!known.includes(name)) throw invalidOption(`${option}.${name}`, `one of ${known.join(", ")}`, name);
}

function requireType(value: unknown, option: string, type: "boolean" | "function"): void {
  if (value !== undefined && typeof value !== type) throw invalidOption(option, `a ${type}`, value);
}
