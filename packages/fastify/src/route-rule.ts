import type { LegacyReset, RateLimitWriter } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { RateLimiter } from "spillway";
import { thrownText } from "spillway/kit";
import type { BanTable } from "./ban-table.ts";
import { callerKey } from "./caller-key.ts";
import type { HookName } from "./hook-name.ts";
import { invalidOption, requireMembers } from "./option-error.ts";
import {
  COUNTING_MEMBERS,
  type CountingOptions,
  countingOf,
  type PluginSettings,
  requireCounting,
  requireLimiter,
} from "./plugin-options.ts";
import { checkCost } from "./policy-checks.ts";
import type { RefusalBody } from "./refusal-body.ts";
import { createRequestAsk, type RequestAsk } from "./request-ask.ts";
import { setupWarning, type WarningListener } from "./setup-warning.ts";
import type { TrafficChecks } from "./traffic-checks.ts";

/** `config.spillway` of a route. What is left out is as in the plugin's options. */
export interface SpillwayRouteOptions extends CountingOptions {
  /** Counts this route in place of the plugin's limiter; `policies`, `keys` and `cost` of the plugin then do not hold here. */
  readonly limiter?: RateLimiter;
}

/** How one route is guarded: everything that does not change from request to request. */
export interface RouteRule extends RequestAsk {
  readonly limiter: RateLimiter;
  readonly hook: HookName;
  readonly isAllowListed: ((request: FastifyRequest) => boolean) | undefined;
  readonly skipsPreflights: boolean;
  readonly fields: RateLimitWriter | undefined;
  readonly legacyHeaders: LegacyReset | false;
  readonly dryRun: boolean;
  readonly bans: BanTable | undefined;
  readonly bodyOf: RefusalBody;
  readonly onRefused: CountingOptions["onRefused"];
  /** Is told what a dry run lets pass; says only the first. */
  readonly noteFault: (thrown: unknown) => void;
  /** Looks at what requests are counted under. */
  readonly checks: TrafficChecks;
}

/** Which route a rule is for. */
export interface RouteTarget {
  /** As warnings name it. */
  readonly name: string;
  /** Whether an OPTIONS request can reach it. */
  readonly answersOptions: boolean;
  /** Whether another route says the same already: one for HEAD, beside its GET. */
  readonly isTwin: boolean;
}

/**
 * The rule of a route, or `undefined` for one that is not limited.
 * @param config `config.spillway` as the route gives it.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function resolveRouteRule(
  settings: PluginSettings,
  config: unknown,
  target: RouteTarget,
  checks: TrafficChecks,
): RouteRule | undefined {
  if (config === false || (config === undefined && !settings.global)) return undefined;
  const own = config === undefined || config === true ? {} : requireRouteOptions(config, settings.limiter);
  const limiter = own.limiter ?? settings.limiter;
  const { policies, keys, cost, ...common } = countingOf(settings);
  const inherited = limiter === settings.limiter ? countingOf(settings) : common;
  const counting: CountingOptions = { ...inherited, ...countingOf(own) };
  if (!target.isTwin) checkFixedCost(counting, limiter, target, settings.warn);
  return Object.freeze({
    ...askOf(counting, limiter, settings),
    limiter,
    hook: counting.hook ?? settings.hook,
    isAllowListed: settings.isAllowListed,
    skipsPreflights: target.answersOptions && !settings.preflights,
    fields: settings.fields,
    legacyHeaders: settings.legacyHeaders,
    dryRun: counting.dryRun ?? false,
    bans: settings.bans,
    bodyOf: settings.bodyOf,
    onRefused: counting.onRefused,
    noteFault: firstFault(settings.warn),
    checks,
  });
}

function askOf({ policies, key, keys = {}, cost }: CountingOptions, limiter: RateLimiter, settings: PluginSettings) {
  const chosen = policies === undefined ? undefined : Object.freeze([...policies]);
  const all = limiter.policies?.map(({ name }) => name);
  const own = Object.entries(keys).filter(([name]) => chosen === undefined || chosen.includes(name));
  if (own.length > 0 && chosen === undefined && all === undefined)
    throw invalidOption("keys", "together with policies where the limiter's depend on the key", undefined);
  return createRequestAsk({
    keyOf: callerKey(key, settings.addresses),
    keysOf: new Map(own.map(([name, keyOf]) => [name, callerKey(keyOf, settings.addresses)])),
    chosen,
    all,
    cost,
    option: "config.spillway.cost",
  });
}

function checkFixedCost(
  { cost = 1, policies }: CountingOptions,
  limiter: RateLimiter,
  { name }: RouteTarget,
  warn: WarningListener,
): void {
  const views = limiter.policies?.filter((view) => policies === undefined || policies.includes(view.name));
  if (views === undefined || typeof cost === "function") return;
  checkCost(cost, views, name, warn);
}

function firstFault(warn: WarningListener): (thrown: unknown) => void {
  let told = false;
  return (thrown) => {
    if (told) return;
    told = true;
    warn(setupWarning("SPILLWAY_WARN_DRY_RUN_FAULT", `The dry run could not decide: ${thrownText(thrown)}`));
  };
}

function requireRouteOptions(config: unknown, limiter: RateLimiter): SpillwayRouteOptions {
  if (typeof config !== "object" || config === null)
    throw invalidOption("config.spillway", "true, false or an object", config);
  requireMembers(config, "config.spillway", ["limiter", ...COUNTING_MEMBERS]);
  const own = config as SpillwayRouteOptions;
  if (own.limiter !== undefined) requireLimiter(own.limiter, "config.spillway.limiter");
  requireCounting(own, "config.spillway.", own.limiter ?? limiter);
  return own;
}
