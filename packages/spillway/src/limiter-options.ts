import { type Clock, systemClock } from "./clock.ts";
import { invalidOption } from "./errors.ts";
import type { StateChange } from "./health.ts";
import { requireNumber, requireObject, requireWhole } from "./options.ts";
import { requireFailureMode, type StoreFailureMode } from "./policy.ts";
import { type PolicyResolver, policyResolver } from "./policy-set.ts";
import type { RateLimiterOptions } from "./rate-limiter.ts";
import { memoryStore } from "./stores/memory-store.ts";
import { warnOfPerProcessLimit } from "./stores/per-process-warning.ts";
import type { Store } from "./stores/store.ts";

/** The options of a limiter, checked and completed. */
export interface ResolvedOptions {
  readonly policiesOf: PolicyResolver;
  readonly store: Store;
  /** Whether the limiter made the store, and so closes it. */
  readonly ownsStore: boolean;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** `undefined` when nothing is leased. */
  readonly maxDrainMs: number | undefined;
  readonly onStoreFailure: StoreFailureMode;
  readonly dryRun: boolean;
  readonly replicas: number;
  readonly maxKeys: number;
  readonly onStateChange: (change: StateChange) => void;
}

const NAMES = [
  "policies",
  "store",
  "lease",
  "deadlineMs",
  "onStoreFailure",
  "dryRun",
  "replicas",
  "maxKeys",
  "clock",
  "onStateChange",
];

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function resolveLimiterOptions(options: RateLimiterOptions): ResolvedOptions {
  requireObject(options, "options", NAMES);
  const { clock = systemClock, dryRun = false, onStoreFailure = "backstop", onStateChange = warn } = options;
  const maxKeys = requireWhole(options.maxKeys ?? 100_000, "maxKeys", 1, 10_000_000);
  requireFailureMode(onStoreFailure, "onStoreFailure");
  if (typeof dryRun !== "boolean") throw invalidOption("dryRun", "true or false", dryRun);
  requireMethods(clock, "clock", "a clock, such as manualClock() of spillway/testing", [
    "monotonicMs",
    "wallMs",
    "startTimer",
    "afterTurn",
  ]);
  if (options.store !== undefined)
    requireMethods(options.store, "store", "a store, such as redisStore(client)", [
      "take",
      "peek",
      "adjust",
      "block",
      "reset",
    ]);
  if (typeof onStateChange !== "function") throw invalidOption("onStateChange", "a function", onStateChange);
  if (options.store === undefined) warnOfPerProcessLimit();
  const store = options.store ?? memoryStore({ maxKeys, clock });
  const maxDrainMs = maxDrainOf(options.lease);
  return {
    policiesOf: policyResolver(options.policies),
    store,
    ownsStore: options.store === undefined,
    clock,
    deadlineMs: requireNumber(options.deadlineMs ?? 50, "deadlineMs", 1, 60_000),
    // A store in this process is nearer than a lease.
    maxDrainMs: store.takeNow === undefined ? maxDrainMs : undefined,
    onStoreFailure,
    dryRun,
    replicas: requireWhole(options.replicas ?? 1, "replicas", 1, 100_000),
    maxKeys,
    onStateChange,
  };
}

function maxDrainOf(option: RateLimiterOptions["lease"]): number | undefined {
  if (option === false) return undefined;
  if (option === undefined) return 50;
  if (typeof option !== "object" || option === null)
    throw invalidOption("lease", "false or an object such as { maxDrainMs: 50 }", option);
  requireObject(option, "lease", ["maxDrainMs"]);
  return requireNumber(option.maxDrainMs ?? 50, "lease.maxDrainMs", 5, 1000);
}

function requireMethods(value: unknown, option: string, expected: string, methods: readonly string[]): void {
  const has = (name: string): boolean => typeof (value as Record<string, unknown>)[name] === "function";
  if (typeof value !== "object" || value === null || !methods.every(has)) throw invalidOption(option, expected, value);
}

function warn({ message }: StateChange): void {
  process.emitWarning(message, "SpillwayWarning");
}
