import { ALGORITHM_NAMES, type AlgorithmName, algorithmOf, type BucketShape } from "./algorithms/bucket.ts";
import { LARGEST_LOG } from "./algorithms/sliding-window-log.ts";
import { tokenBucketShape } from "./algorithms/token-bucket.ts";
import { type Duration, durationUs } from "./duration.ts";
import { invalidOption, show } from "./errors.ts";
import { requireObject } from "./options.ts";

/** What decides for a policy while the store cannot answer. */
export type StoreFailureMode = "backstop" | "open" | "closed";

/** One limit, as a user writes it. */
export interface PolicyOptions {
  /** 1 to 64 of `a-z`, `0-9` and `-`. Part of the store's key: two policies of one name share their buckets. */
  readonly name: string;
  /** Tokens per period: a whole number from 1 to 10^12, to 10,000 for a `"sliding-window-log"`. */
  readonly limit: number;
  /** From 1 ms to 366 days. */
  readonly period: Duration;
  /** How many tokens an idle bucket saves up; token bucket only. Defaults to `limit`. */
  readonly burst?: number;
  /**
   * `"token-bucket"` (GCRA by its other name; the default): at most `burst + limit x T / period` in any time `T`. `"fixed-window"`: at
   * most `limit` from one start to the next. `"sliding-window-counter"`: an estimate from two counts, at most
   * `limit x (1 + T / period)` in any `T`. `"sliding-window-log"`: exactly, at most `limit` in any period; it keeps the time of each
   * token, and is never leased.
   */
  readonly algorithm?: AlgorithmName;
  /** Fixed window only: windows at multiples of the period since 1970, or from the first request. Defaults to `"first-request"`. */
  readonly windowStart?: "first-request" | "aligned";
  /** Overrides the limiter's `onStoreFailure` for this policy. */
  readonly onStoreFailure?: StoreFailureMode;
}

/** A policy checked, completed and frozen. */
export interface Policy {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly periodMs: number;
  readonly periodUs: number;
  /** The most that one request can cost: the burst of a token bucket, the limit of a window. */
  readonly capacity: number;
  readonly shape: BucketShape;
  readonly onStoreFailure: StoreFailureMode | undefined;
}

/** What a limiter tells of one of its policies. */
export interface PolicyView {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly periodMs: number;
  /** The most that one request can cost: the burst of a token bucket, the limit of a window. */
  readonly capacity: number;
}

/** What others may know of policies. */
export function viewsOf(policies: readonly Policy[]): readonly PolicyView[] {
  const views = policies.map(({ name, algorithm, limit, periodMs, capacity }) =>
    Object.freeze({ name, algorithm, limit, periodMs, capacity }),
  );
  return Object.freeze(views);
}

/** The largest limit and burst. */
export const LARGEST_LIMIT = 1e12;
const NAME = /^[a-z0-9-]{1,64}$/;
const DAY_MS = 86_400_000;
const OPTION_NAMES = ["name", "limit", "period", "burst", "algorithm", "windowStart", "onStoreFailure"];
/** The failure modes, in the order that error messages list them. */
export const STORE_FAILURE_MODES: readonly StoreFailureMode[] = ["backstop", "open", "closed"];

/**
 * Checks policy options and completes them.
 * @param at the name that errors give this policy, for example `policies[0]`.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function resolvePolicy(options: unknown, at: string): Policy {
  if (typeof options !== "object" || options === null) throw invalidOption(at, "a policy object", options);
  requireObject(options, at, OPTION_NAMES);
  const given = options as Partial<Record<keyof PolicyOptions, unknown>>;
  const { name, limit, burst } = given;
  const algorithm = given.algorithm ?? "token-bucket";
  if (typeof name !== "string" || !NAME.test(name))
    throw invalidOption(`${at}.name`, "1 to 64 characters of a-z, 0-9 and -", name);
  if (!isOneOf(ALGORITHM_NAMES, algorithm))
    throw invalidOption(`${at}.algorithm`, `one of ${ALGORITHM_NAMES.map(show).join(", ")}`, algorithm);
  requireLimit(limit, `${at}.limit`, algorithm);
  const periodUs = durationUs(given.period, `${at}.period`, 1, 366 * DAY_MS);
  if (given.onStoreFailure !== undefined) requireFailureMode(given.onStoreFailure, `${at}.onStoreFailure`);
  const shape = shapeOf(algorithm, limit, periodUs, burst, given.windowStart, at);
  return Object.freeze({
    name,
    algorithm,
    limit,
    periodMs: periodUs / 1000,
    periodUs,
    capacity: algorithmOf(shape).capacity(shape),
    shape: Object.freeze(shape),
    onStoreFailure: given.onStoreFailure,
  });
}

function shapeOf(
  algorithm: AlgorithmName,
  limit: number,
  periodUs: number,
  burst: unknown,
  windowStart: unknown,
  at: string,
): BucketShape {
  if (algorithm === "token-bucket") {
    if (windowStart !== undefined) throw invalidOption(`${at}.windowStart`, "left out for a token bucket", windowStart);
    const capacity = burst ?? limit;
    requireLimit(capacity, `${at}.burst`, algorithm);
    return tokenBucketShape(limit, periodUs, capacity);
  }
  if (burst !== undefined) throw invalidOption(`${at}.burst`, "left out for a window", burst);
  if (algorithm !== "fixed-window") {
    if (windowStart !== undefined)
      throw invalidOption(`${at}.windowStart`, "left out for a sliding window", windowStart);
    return { kind: algorithm, limit, periodUs };
  }
  if (windowStart !== undefined && windowStart !== "first-request" && windowStart !== "aligned")
    throw invalidOption(`${at}.windowStart`, 'one of "first-request", "aligned"', windowStart);
  return { kind: algorithm, limit, periodUs, aligned: windowStart === "aligned" };
}

function requireLimit(value: unknown, option: string, algorithm: AlgorithmName): asserts value is number {
  const isLog = algorithm === "sliding-window-log";
  const most = isLog ? LARGEST_LOG : LARGEST_LIMIT;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return;
  const why = isLog ? " for a sliding-window-log, which keeps the time of each token" : "";
  throw invalidOption(option, `a whole number from 1 to ${most}${why}`, value);
}

/** @throws SpillwayError unless `value` is a failure mode. */
export function requireFailureMode(value: unknown, option: string): asserts value is StoreFailureMode {
  if (!isOneOf(STORE_FAILURE_MODES, value))
    throw invalidOption(option, `one of ${STORE_FAILURE_MODES.map(show).join(", ")}`, value);
}

function isOneOf<T>(list: readonly T[], value: unknown): value is T {
  return list.includes(value as T);
}
