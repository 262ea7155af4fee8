import { type Clock, systemClock } from "spillway";
import type { Order } from "./line-order.ts";
import { invalidOption, requireMembers } from "./option-error.ts";

/**
 * How callers who are turned away are spread over the time to come. `"slots"`: each gets the next place that nobody was told
 * yet. `"drain"`: all are told when the present line is worked off. A number: all are told that many ms.
 */
export type RetryAfterMode = "slots" | "drain" | number;

/**
 * `"enforce"`: requests wait and are turned away. `"observe"`: everybody goes in at once, and what would have been turned away
 * is counted. `"off"`: everybody goes in at once.
 */
export type AdmissionMode = "enforce" | "observe" | "off";

/** What can be changed while the service runs. */
export interface AdmissionTuning {
  /** How much is worked on at the same time: whole, 1 to 1,000,000. Defaults to 8. */
  readonly slots?: number;
  /**
   * How much work may wait, as the time in which it is worked off: from 0, which is no line at all, to `Infinity`. It is turned
   * into places by what work takes, as measured. Defaults to 200.
   */
  readonly lineMs?: number;
  /** How many requests may wait at most, whatever `lineMs` says: whole, 0 to 1,000,000. Defaults to 1000. */
  readonly lineItems?: number;
  /** The longest that a request waits: from 0 to `Infinity`. Those who wait already keep theirs. Defaults to 300. */
  readonly waitMs?: number;
  /** Who goes in next. Defaults to `"adaptive"`. */
  readonly order?: Order;
  /** Defaults to `"enforce"`. */
  readonly mode?: AdmissionMode;
  /** What callers who are turned away are told. A number is so many ms for all. Defaults to `"slots"`. */
  readonly retryAfter?: RetryAfterMode;
  /** The longest wait that callers are told, in ms: 1 to 86,400,000. Above it they are told not to retry. Defaults to 30,000. */
  readonly retryCapMs?: number;
  /** The part of the service that is promised to callers who come back, under lasting overload: above 0 to 1. Defaults to 0.5. */
  readonly retryShare?: number;
}

export interface AdmissionOptions extends AdmissionTuning {
  /** What work is taken to last before any was measured, in ms: above 0 to 3,600,000. Defaults to 50. */
  readonly guessMs?: number;
  /** For tests. */
  readonly clock?: Clock;
  /** At least 0, below 1. For tests. Defaults to `Math.random`. */
  readonly random?: () => number;
}

/** The part of the options that `tune` changes, checked and completed. */
export type AdmissionSettings = Required<AdmissionTuning>;

export interface ResolvedAdmissionOptions {
  readonly settings: AdmissionSettings;
  readonly guessMs: number;
  readonly clock: Clock;
  readonly random: () => number;
}

const DEFAULTS: AdmissionSettings = Object.freeze({
  slots: 8,
  lineMs: 200,
  lineItems: 1000,
  waitMs: 300,
  order: "adaptive",
  mode: "enforce",
  retryAfter: "slots",
  retryCapMs: 30_000,
  retryShare: 0.5,
});
const TUNABLE = Object.keys(DEFAULTS);
const MOST_ITEMS = 1_000_000;
const DAY_MS = 86_400_000;
const ORDERS = ["fifo", "lifo", "adaptive"];
const MODES = ["enforce", "observe", "off"];

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function resolveAdmissionOptions(options: AdmissionOptions): ResolvedAdmissionOptions {
  requireMembers(options, [...TUNABLE, "guessMs", "clock", "random"]);
  const { guessMs = 50, clock = systemClock, random = Math.random, ...tuning } = options;
  requireNumber(guessMs, "guessMs", 0, 3_600_000);
  if (guessMs === 0) throw invalidOption("guessMs", "above 0", guessMs);
  requireClock(clock);
  if (typeof random !== "function") throw invalidOption("random", "a function", random);
  return Object.freeze({ settings: tuned(DEFAULTS, tuning), guessMs, clock, random });
}

/** Settings with some changed. @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function tuned(settings: AdmissionSettings, changes: AdmissionTuning): AdmissionSettings {
  requireMembers(changes, TUNABLE);
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const next: AdmissionSettings = { ...settings, ...Object.fromEntries(given) };
  requireWhole(next.slots, "slots", 1);
  requireNumber(next.lineMs, "lineMs", 0, Number.POSITIVE_INFINITY);
  requireWhole(next.lineItems, "lineItems", 0);
  requireNumber(next.waitMs, "waitMs", 0, Number.POSITIVE_INFINITY);
  requireOneOf(next.order, "order", ORDERS);
  requireOneOf(next.mode, "mode", MODES);
  requireRetryAfter(next.retryAfter);
  requireNumber(next.retryCapMs, "retryCapMs", 1, DAY_MS);
  requireNumber(next.retryShare, "retryShare", 0, 1);
  if (next.retryShare === 0) throw invalidOption("retryShare", "above 0", next.retryShare);
  return Object.freeze(next);
}

function requireRetryAfter(value: unknown): void {
  if (value === "slots" || value === "drain") return;
  if (typeof value !== "number" || !(value >= 0 && value <= DAY_MS))
    throw invalidOption("retryAfter", `"slots", "drain" or a number of ms from 0 to ${DAY_MS}`, value);
}

function requireWhole(value: unknown, option: string, least: number): void {
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > MOST_ITEMS)
    throw invalidOption(option, `a whole number from ${least} to ${MOST_ITEMS}`, value);
}

function requireNumber(value: unknown, option: string, least: number, most: number): void {
  if (typeof value !== "number" || !(value >= least && value <= most))
    throw invalidOption(option, `a number from ${least} to ${most}`, value);
}

function requireOneOf(value: unknown, option: string, names: readonly string[]): void {
  if (!names.includes(value as string)) throw invalidOption(option, `one of ${names.join(", ")}`, value);
}

function requireClock(value: unknown): void {
  const clock = value as Record<string, unknown> | null | undefined;
  const isClock = ["monotonicMs", "startTimer", "afterTurn"].every((name) => typeof clock?.[name] === "function");
  if (!isClock) throw invalidOption("clock", "a clock, such as manualClock() of spillway/testing", value);
}
