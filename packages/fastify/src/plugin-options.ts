import { type AddressGroupingOptions, createAddressGrouping, type LegacyReset, RateLimitWriter } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { Cost, RateLimiter, RefusedDecision } from "spillway";
import { type AllowList, allowListed } from "./allow-list.ts";
import { type BanOptions, BanTable } from "./ban-table.ts";
import type { KeyFunction } from "./caller-key.ts";
import { type HookName, requireHookName } from "./hook-name.ts";
import { invalidOption, requireMembers, requireType } from "./option-error.ts";
import { requirePolicies } from "./policy-checks.ts";
import { type BodyFunction, type RefusalBody, refusalBody } from "./refusal-body.ts";
import { type CostFunction, requestCost } from "./request-cost.ts";
import { emitWarning, heardBy, type WarningListener } from "./setup-warning.ts";

/** What a route can override. */
export interface CountingOptions {
  /**
   * The names of the limiter's policies that count. A route's list takes the place of the plugin's. Defaults to all.
   */
  readonly policies?: readonly string[];
  /** Who is calling. Defaults to the address, `request.ip`. */
  readonly key?: KeyFunction;
  /** Who is calling, for single policies by name; the others have `key`. All policies are charged, or none. */
  readonly keys?: Readonly<Record<string, KeyFunction>>;
  /** What a request costs: a whole number, one per policy name, or a synchronous function of the request. Defaults to 1. */
  readonly cost?: Cost | CostFunction;
  /** Defaults to `"onRequest"`, before the body is read. */
  readonly hook?: HookName;
  /** Decides, counts and tells `onRefused`, but lets everybody in and sends no fields. Defaults to false. */
  readonly dryRun?: boolean;
  /**
   * Is told of each refusal before it is sent. What it throws goes to the error handler in place of the refusal. A promise that it
   * returns is not waited for; that it rejected is logged as an error.
   */
  readonly onRefused?: (request: FastifyRequest, decision: RefusedDecision) => void;
}

/** Options of the plugin; those of `config.spillway` override them for a route. */
export interface SpillwayOptions extends CountingOptions {
  /** Decides and counts. The plugin never closes it. */
  readonly limiter: RateLimiter;
  /** How addresses are grouped where they are the key. Defaults to `{ ipv6Subnet: 56 }`. */
  readonly addresses?: AddressGroupingOptions;
  /** Whether routes without `config.spillway` are limited too. Defaults to true. */
  readonly global?: boolean;
  /** Who is left alone: addresses and subnets of `request.ip`, or a synchronous function. Defaults to nobody. */
  readonly allowList?: AllowList;
  /** `"draft-8"`: `RateLimit` and `RateLimit-Policy` on every limited reply. `false`: neither. Defaults to `"draft-8"`. */
  readonly headers?: "draft-8" | false;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` too, the last as seconds from now or since 1970. Defaults to false. */
  readonly legacyHeaders?: LegacyReset | false;
  /** Adds the fields' names to `Access-Control-Expose-Headers`, so that browsers show them. Defaults to false. */
  readonly exposeHeaders?: boolean;
  /** Whether requests that find no route count too, at cost 1. Defaults to false. */
  readonly notFound?: boolean;
  /** Whether CORS preflights count, and can be refused. Defaults to false. */
  readonly preflights?: boolean;
  /** Shuts out, in this process, who goes on after so many refusals. Defaults to nobody. */
  readonly ban?: BanOptions;
  /** Sends refusals as `application/problem+json` (RFC 9457). Defaults to false. */
  readonly problemJson?: boolean;
  /** Builds the body of a refusal, synchronously: whatever `reply.send` takes. Not together with `problemJson`. */
  readonly body?: BodyFunction;
  /**
   * Is told of a set-up that hardly is as it was meant. What it throws fails the registration, the route or the request that it is told
   * at; what a promise that it returns rejects with is a process warning. Defaults to one process warning each.
   */
  readonly onWarning?: WarningListener;
}

/** The same, checked and completed. */
export interface PluginSettings extends CountingOptions {
  readonly limiter: RateLimiter;
  readonly addresses: AddressGroupingOptions | undefined;
  readonly global: boolean;
  readonly hook: HookName;
  readonly isAllowListed: ((request: FastifyRequest) => boolean) | undefined;
  readonly fields: RateLimitWriter | undefined;
  readonly legacyHeaders: LegacyReset | false;
  /** Names to expose to browsers; none where the option is off. */
  readonly exposed: readonly string[];
  readonly notFound: boolean;
  readonly preflights: boolean;
  readonly dryRun: boolean;
  readonly bans: BanTable | undefined;
  readonly bodyOf: RefusalBody;
  readonly warn: WarningListener;
}

/** The options that a route can override too. */
export const COUNTING_MEMBERS = ["policies", "key", "keys", "cost", "hook", "dryRun", "onRefused"] as const;
const BOOLEANS = ["global", "notFound", "preflights", "problemJson", "exposeHeaders"] as const;
const MEMBERS = [
  ...COUNTING_MEMBERS,
  ...BOOLEANS,
  ...["limiter", "addresses", "allowList", "headers", "legacyHeaders", "ban", "body", "onWarning"],
];
/** Fastify's own options of `register`, which reach the plugin too. */
const REGISTER_MEMBERS = ["prefix", "logLevel", "logSerializers"];
const FIELDS = ["RateLimit", "RateLimit-Policy", "Retry-After"];
const LEGACY_FIELDS = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function resolvePluginOptions(options: SpillwayOptions): PluginSettings {
  requireMembers(options, "options", [...MEMBERS, ...REGISTER_MEMBERS]);
  const { limiter, addresses, headers = "draft-8", legacyHeaders = false, ban, body } = options;
  requireLimiter(limiter, "limiter");
  requireCounting(options, "", limiter);
  for (const name of ["body", "onWarning"] as const) requireType(options[name], name, "function");
  for (const name of BOOLEANS) requireType(options[name], name, "boolean");
  if (headers !== "draft-8" && headers !== false) throw invalidOption("headers", '"draft-8" or false', headers);
  if (legacyHeaders !== "delta" && legacyHeaders !== "epoch" && legacyHeaders !== false)
    throw invalidOption("legacyHeaders", '"delta", "epoch" or false', legacyHeaders);
  if (options.problemJson && body !== undefined)
    throw invalidOption("body", "left out together with problemJson", body);
  requireAddresses(addresses);
  const names = [...FIELDS, ...(legacyHeaders === false ? [] : LEGACY_FIELDS)];
  return Object.freeze({
    ...countingOf(options),
    limiter,
    addresses,
    global: options.global ?? true,
    hook: options.hook ?? "onRequest",
    isAllowListed: allowListed(options.allowList),
    fields: headers === false ? undefined : new RateLimitWriter(),
    legacyHeaders,
    exposed: options.exposeHeaders ? names : [],
    notFound: options.notFound ?? false,
    preflights: options.preflights ?? false,
    dryRun: options.dryRun ?? false,
    bans: ban === undefined ? undefined : new BanTable(ban),
    bodyOf: refusalBody(body, options.problemJson ?? false),
    warn: options.onWarning === undefined ? emitWarning : heardBy(options.onWarning),
  });
}

/** The members of {@link CountingOptions} that are given. */
export function countingOf(options: CountingOptions): CountingOptions {
  const given = COUNTING_MEMBERS.filter((name) => options[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, options[name]]));
}

/**
 * Checks what plugin and routes have in common.
 * @param at what comes before a name in errors.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function requireCounting(options: CountingOptions, at: string, limiter: RateLimiter): void {
  const { policies, keys, cost, hook } = options;
  for (const name of ["key", "onRefused"] as const) requireType(options[name], `${at}${name}`, "function");
  requireType(options.dryRun, `${at}dryRun`, "boolean");
  if (hook !== undefined) requireHookName(hook, `${at}hook`);
  if (policies !== undefined) {
    if (!Array.isArray(policies) || policies.length === 0)
      throw invalidOption(`${at}policies`, "an array of at least one policy's name", policies);
    for (const [i, name] of policies.entries())
      if (typeof name !== "string" || policies.indexOf(name) !== i)
        throw invalidOption(`${at}policies[${i}]`, "a name, and each only once", name);
    requirePolicies(policies, limiter, `${at}policies`);
  }
  if (keys !== undefined) requireKeys(keys, `${at}keys`, limiter);
  if (cost === undefined) return;
  if (typeof cost !== "function") requestCost(cost, `${at}cost`);
  if (typeof cost === "object") requirePolicies(Object.keys(cost), limiter, `${at}cost`);
}

function requireKeys(keys: unknown, option: string, limiter: RateLimiter): void {
  if (typeof keys !== "object" || keys === null || Array.isArray(keys))
    throw invalidOption(option, "an object of functions by policy name", keys);
  requirePolicies(Object.keys(keys), limiter, option);
  for (const [name, key] of Object.entries(keys))
    if (typeof key !== "function") throw invalidOption(`${option}.${name}`, "a function", key);
}

/** @throws SpillwayError unless `value` looks like a limiter. */
export function requireLimiter(value: unknown, option: string): asserts value is RateLimiter {
  const limiter = value as Partial<RateLimiter> | null | undefined;
  if (typeof limiter?.consume !== "function" || typeof limiter.consumeNow !== "function")
    throw invalidOption(option, "a limiter of createRateLimiter()", value);
}

function requireAddresses(addresses: AddressGroupingOptions | undefined): void {
  if (addresses !== undefined) requireMembers(addresses, "addresses", ["ipv6Subnet"]);
  try {
    createAddressGrouping(addresses);
  } catch (cause) {
    throw invalidOption("addresses.ipv6Subnet", "a whole number from 1 to 128", addresses?.ipv6Subnet, cause);
  }
}
