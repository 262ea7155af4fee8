import type { RateLimitWriter } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { ConsumeOptions, Cost, RateLimiter } from "spillway";
import { callerKey, type KeyFunction } from "./caller-key.ts";
import { type HookName, requireHookName } from "./hook-name.ts";
import { invalidOption, requireMembers, requireType } from "./option-error.ts";
import { type PluginSettings, requireLimiter, type SpillwayOptions } from "./plugin-options.ts";
import type { RefusalBody } from "./refusal-body.ts";
import { type CostFunction, requestCost } from "./request-cost.ts";

/** `config.spillway` of a route. What is left out is as in the plugin's options. */
export interface SpillwayRouteOptions {
  /** Defaults to 1. */
  readonly cost?: Cost | CostFunction;
  /** Counts this route in place of the plugin's limiter. */
  readonly limiter?: RateLimiter;
  readonly key?: KeyFunction;
  readonly hook?: HookName;
}

/** How one route is guarded: everything that does not change from request to request. */
export interface RouteRule {
  readonly limiter: RateLimiter;
  readonly hook: HookName;
  readonly keyOf: (request: FastifyRequest) => string;
  readonly costOf: (request: FastifyRequest) => ConsumeOptions | undefined;
  readonly skipsPreflights: boolean;
  readonly fields: RateLimitWriter | undefined;
  readonly bodyOf: RefusalBody;
  readonly onRefused: SpillwayOptions["onRefused"];
}

/**
 * The rule of a route, or `undefined` for one that is not limited.
 * @param config `config.spillway` as the route gives it.
 * @param answersOptions whether an OPTIONS request can reach the route.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function resolveRouteRule(
  settings: PluginSettings,
  config: unknown,
  answersOptions: boolean,
): RouteRule | undefined {
  if (config === false || (config === undefined && !settings.global)) return undefined;
  const own = config === undefined || config === true ? {} : requireRouteOptions(config);
  return Object.freeze({
    limiter: own.limiter ?? settings.limiter,
    hook: own.hook ?? settings.hook,
    keyOf: callerKey(own.key ?? settings.key, settings.group),
    costOf: requestCost(own.cost, "config.spillway.cost"),
    skipsPreflights: answersOptions && !settings.preflights,
    fields: settings.fields,
    bodyOf: settings.bodyOf,
    onRefused: settings.onRefused,
  });
}

function requireRouteOptions(config: unknown): SpillwayRouteOptions {
  if (typeof config !== "object" || config === null)
    throw invalidOption("config.spillway", "true, false or an object", config);
  requireMembers(config, "config.spillway", ["cost", "limiter", "key", "hook"]);
  const { limiter, key, hook } = config as SpillwayRouteOptions;
  if (limiter !== undefined) requireLimiter(limiter, "config.spillway.limiter");
  requireType(key, "config.spillway.key", "function");
  if (hook !== undefined) requireHookName(hook, "config.spillway.hook");
  return config;
}
