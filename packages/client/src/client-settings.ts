import { type Clock, type Duration, systemClock } from "spillway";
import { durationUs, invalidOption, requireNumber, requireObject, requireWhole } from "spillway/kit";
import type { ThrottleSettings } from "./adaptive-throttle.ts";
import type { Jitter } from "./backoff.ts";
import type { BreakerSettings } from "./circuit-breaker.ts";
import type { BreakerOptions, ClientOptions, HeaderOptions, RetryOptions, ThrottleOptions } from "./client-options.ts";
import type { Fetch } from "./fetch-types.ts";
import type { DecisionSettings } from "./retry-decision.ts";
import { safeListener, safeRandom } from "./safe-callback.ts";

/** The options of retrying, checked and completed. */
export interface RetrySettings extends DecisionSettings {
  readonly methods: ReadonlySet<string>;
  readonly statusCodes: ReadonlySet<number>;
  readonly errorCodes: ReadonlySet<string>;
  readonly shouldRetry: RetryOptions["shouldRetry"];
}

/** The options of a client, checked and completed. */
export interface ClientSettings {
  readonly fetch: Fetch;
  readonly retry: RetrySettings;
  /** `Infinity` for none. */
  readonly deadlineMs: number;
  readonly attemptTimeoutMs: number;
  readonly budget: { readonly ratio: number; readonly reserve: number } | undefined;
  readonly throttle: ThrottleSettings | undefined;
  readonly breaker: BreakerSettings | undefined;
  readonly pause: boolean;
  readonly pacing: boolean;
  readonly scope: ClientOptions["scope"];
  readonly deadlineHeader: string | undefined;
  readonly attemptHeader: string | undefined;
  readonly maxOrigins: number;
  readonly maxWaiting: number;
  readonly onRetry: ClientOptions["onRetry"];
  readonly onStateChange: ClientOptions["onStateChange"];
  readonly clock: Clock;
  readonly random: () => number;
}

const DAY_MS = 86_400_000;
const METHODS = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY"];
const STATUS_CODES = [408, 429, 500, 502, 503, 504, 529];
const ERROR_CODES = [
  "ECONNRESET",
  "ECONNREFUSED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "ERR_SPILLWAY_CALL_TIMEOUT",
];
const JITTERS: readonly unknown[] = ["full", "equal", "decorrelated", "none"] satisfies Jitter[];
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NAMES = [
  "fetch",
  "retry",
  "deadline",
  "attemptTimeout",
  "budget",
  "throttle",
  "breaker",
  "pause",
  "pacing",
  "scope",
  "headers",
  "maxOrigins",
  "maxWaiting",
  "onRetry",
  "onStateChange",
  "clock",
  "random",
];

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function resolveClientOptions(options: ClientOptions): ClientSettings {
  requireObject(options, "options", NAMES);
  for (const name of ["fetch", "scope", "onRetry", "onStateChange", "random"] as const)
    requireFunction(options[name], name);
  for (const name of ["pause", "pacing"] as const) requireBoolean(options[name], name);
  const { clock = systemClock, headers } = options;
  if (typeof clock?.monotonicMs !== "function" || typeof clock.startTimer !== "function")
    throw invalidOption("clock", "a clock, such as manualClock() of spillway/testing", clock);
  return Object.freeze({
    fetch: options.fetch ?? ((...request: Parameters<Fetch>) => globalThis.fetch(...request)),
    retry: retrySettings(options.retry),
    deadlineMs: deadlineOf(options.deadline ?? "10s"),
    attemptTimeoutMs:
      options.attemptTimeout === undefined
        ? Number.POSITIVE_INFINITY
        : lengthMs(options.attemptTimeout, "attemptTimeout", 1, DAY_MS),
    budget: budgetSettings(options.budget),
    throttle: throttleSettings(options.throttle),
    breaker: breakerSettings(options.breaker),
    pause: options.pause ?? true,
    pacing: options.pacing ?? true,
    scope: options.scope,
    deadlineHeader: headerName(headers, "deadline", "x-request-deadline-ms"),
    attemptHeader: headerName(headers, "attempt", "x-request-attempt"),
    maxOrigins: requireWhole(options.maxOrigins ?? 1000, "maxOrigins", 1, 1_000_000),
    maxWaiting: requireWhole(options.maxWaiting ?? 1000, "maxWaiting", 0, 1_000_000),
    onRetry: safeListener("onRetry", options.onRetry),
    onStateChange: safeListener("onStateChange", options.onStateChange),
    clock,
    random: safeRandom(options.random ?? Math.random),
  });
}

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function retrySettings(option: ClientOptions["retry"]): RetrySettings {
  const given: RetryOptions =
    option === false ? { limit: 0 } : typeof option === "number" ? { limit: option } : (option ?? {});
  requireObject(given, "retry", [
    "limit",
    "methods",
    "statusCodes",
    "errorCodes",
    "maxRetryAfter",
    "backoffBase",
    "backoffLimit",
    "jitter",
    "shouldRetry",
  ]);
  const { methods = METHODS, statusCodes = STATUS_CODES, errorCodes = ERROR_CODES, jitter = "full" } = given;
  requireList(methods, "retry.methods", "names of methods", (one) => typeof one === "string" && TOKEN.test(one));
  requireList(statusCodes, "retry.statusCodes", "statuses from 400 to 599", isErrorStatus);
  requireList(errorCodes, "retry.errorCodes", "codes of errors", (one) => typeof one === "string");
  if (!JITTERS.includes(jitter)) throw invalidOption("retry.jitter", `one of ${JITTERS.join(", ")}`, jitter);
  requireFunction(given.shouldRetry, "retry.shouldRetry");
  const baseMs = lengthMs(given.backoffBase ?? 100, "retry.backoffBase", 1, DAY_MS);
  return Object.freeze({
    limit: requireWhole(given.limit ?? 3, "retry.limit", 0, 100),
    methods: new Set(methods.map((method) => method.toUpperCase())),
    statusCodes: new Set(statusCodes),
    errorCodes: new Set(errorCodes),
    maxRetryAfterMs: lengthMs(given.maxRetryAfter ?? "60s", "retry.maxRetryAfter", 0, DAY_MS),
    baseMs,
    limitMs: lengthMs(given.backoffLimit ?? Math.max(5000, baseMs), "retry.backoffLimit", baseMs, DAY_MS),
    jitter,
    shouldRetry: given.shouldRetry,
  });
}

function budgetSettings(option: ClientOptions["budget"]): ClientSettings["budget"] {
  if (option === false) return undefined;
  requireObject(option ?? {}, "budget", ["ratio", "reserve"]);
  return {
    ratio: requireNumber(option?.ratio ?? 0.1, "budget.ratio", 0, 1),
    reserve: requireWhole(option?.reserve ?? 10, "budget.reserve", 0, 10_000),
  };
}

function throttleSettings(option: ClientOptions["throttle"]): ThrottleSettings | undefined {
  if (option === false) return undefined;
  const given: ThrottleOptions = option ?? {};
  requireObject(given, "throttle", ["factor", "window", "minimumCalls", "mostRefused"]);
  return {
    factor: requireNumber(given.factor ?? 1.8, "throttle.factor", 1.01, 100),
    windowMs: lengthMs(given.window ?? "30s", "throttle.window", 1000, 600_000),
    minimumCalls: requireWhole(given.minimumCalls ?? 20, "throttle.minimumCalls", 1, 1_000_000),
    mostRefused: requireNumber(given.mostRefused ?? 0.95, "throttle.mostRefused", 0, 0.99),
  };
}

function breakerSettings(option: ClientOptions["breaker"]): BreakerSettings | undefined {
  if (option === undefined || option === false) return undefined;
  const given: BreakerOptions = option === true ? {} : option;
  requireObject(given, "breaker", [
    "window",
    "failureRatio",
    "minimumCalls",
    "openFor",
    "probes",
    "probeTimeout",
    "silence",
  ]);
  const openMs = lengthMs(given.openFor ?? "30s", "breaker.openFor", 10, 3_600_000);
  return {
    windowMs: lengthMs(given.window ?? "10s", "breaker.window", 100, 600_000),
    failureRatio: requireNumber(given.failureRatio ?? 0.5, "breaker.failureRatio", 0.01, 1),
    minimumCalls: requireWhole(given.minimumCalls ?? 20, "breaker.minimumCalls", 1, 1_000_000),
    openMs,
    probes: requireWhole(given.probes ?? 3, "breaker.probes", 1, 100),
    probeTimeoutMs: lengthMs(given.probeTimeout ?? openMs, "breaker.probeTimeout", 1, 3_600_000),
    silenceMs: lengthMs(given.silence ?? 500, "breaker.silence", 1, 3_600_000),
  };
}

function headerName(options: ClientOptions["headers"], which: keyof HeaderOptions, name: string): string | undefined {
  if (options === false) return undefined;
  requireObject(options ?? {}, "headers", ["deadline", "attempt"]);
  const given: unknown = options?.[which] ?? name;
  if (given === false) return undefined;
  if (typeof given !== "string" || !TOKEN.test(given))
    throw invalidOption(`headers.${which}`, "a header's name or false", given);
  return given.toLowerCase();
}

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function deadlineOf(option: Duration | false): number {
  return option === false ? Number.POSITIVE_INFINITY : lengthMs(option, "deadline", 1, DAY_MS);
}

/** A length of time in ms. @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
function lengthMs(value: Duration, option: string, leastMs: number, mostMs: number): number {
  return durationUs(value, option, leastMs, mostMs) / 1000;
}

function isErrorStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599;
}

function requireList(value: unknown, option: string, of: string, fits: (one: unknown) => boolean): void {
  if (!Array.isArray(value) || !value.every(fits)) throw invalidOption(option, `an array of ${of}`, value);
}

function requireFunction(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== "function") throw invalidOption(option, "a function", value);
}

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function requireBoolean(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== "boolean") throw invalidOption(option, "true or false", value);
}
