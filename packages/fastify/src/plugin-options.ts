import { type AddressGroupingOptions, createAddressGrouping, RateLimitWriter } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { RateLimiter, RefusedDecision } from "spillway";
import type { KeyFunction } from "./caller-key.ts";
import { type HookName, requireHookName } from "./hook-name.ts";
import { invalidOption, requireMembers, requireType } from "./option-error.ts";
import { type BodyFunction, type RefusalBody, refusalBody } from "./refusal-body.ts";

/** Options of the plugin; those of `config.spillway` override them for a route. */
export interface SpillwayOptions {
  /** Decides and counts. The plugin never closes it. */
  readonly limiter: RateLimiter;
  /** Who is calling. Defaults to the address, `request.ip`. */
  readonly key?: KeyFunction;
  /** How addresses are grouped where they are the key. Defaults to `{ ipv6Subnet: 56 }`. */
  readonly addresses?: AddressGroupingOptions;
  /** Whether routes without `config.spillway` are limited too. Defaults to true. */
  readonly global?: boolean;
  /** Defaults to `"onRequest"`, before the body is read. */
  readonly hook?: HookName;
  /** `"draft-8"`: `RateLimit` and `RateLimit-Policy` on every limited reply. `false`: neither. Defaults to `"draft-8"`. */
  readonly headers?: "draft-8" | false;
  /** Whether requests that find no route count too, at cost 1. Defaults to false. */
  readonly notFound?: boolean;
  /** Whether CORS preflights count, and can be refused. Defaults to false. */
  readonly preflights?: boolean;
  /** Sends refusals as `application/problem+json` (RFC 9457). Defaults to false. */
  readonly problemJson?: boolean;
  /** Builds the body of a refusal, synchronously: whatever `reply.send` takes. Not together with `problemJson`. */
  readonly body?: BodyFunction;
  /** Is told of each refusal before it is sent. What it throws goes to the error handler in place of the refusal. */
  readonly onRefused?: (request: FastifyRequest, decision: RefusedDecision) => void;
}

/** The same, checked and completed. */
export interface PluginSettings {
  readonly limiter: RateLimiter;
  readonly key: KeyFunction | undefined;
  readonly group: (address: string) => string;
  readonly global: boolean;
  readonly hook: HookName;
  readonly fields: RateLimitWriter | undefined;
  readonly notFound: boolean;
  readonly preflights: boolean;
  readonly bodyOf: RefusalBody;
  readonly onRefused: SpillwayOptions["onRefused"];
}

const MEMBERS = [
  "limiter",
  "key",
  "addresses",
  "global",
  "hook",
  "headers",
  "notFound",
  "preflights",
  "problemJson",
  "body",
  "onRefused",
];
/** Fastify's own options of `register`, which reach the plugin too. */
const REGISTER_MEMBERS = ["prefix", "logLevel", "logSerializers"];

/** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
export function resolvePluginOptions(options: SpillwayOptions): PluginSettings {
  requireMembers(options, "options", [...MEMBERS, ...REGISTER_MEMBERS]);
  const { limiter, key, addresses, hook, headers = "draft-8", body, onRefused } = options;
  requireLimiter(limiter, "limiter");
  for (const name of ["key", "body", "onRefused"] as const) requireType(options[name], name, "function");
  for (const name of ["global", "notFound", "preflights", "problemJson"] as const)
    requireType(options[name], name, "boolean");
  if (headers !== "draft-8" && headers !== false) throw invalidOption("headers", '"draft-8" or false', headers);
  if (options.problemJson && body !== undefined)
    throw invalidOption("body", "left out together with problemJson", body);
  return Object.freeze({
    limiter,
    key,
    group: addressGrouping(addresses),
    global: options.global ?? true,
    hook: hook === undefined ? "onRequest" : requireHookName(hook, "hook"),
    fields: headers === false ? undefined : new RateLimitWriter(),
    notFound: options.notFound ?? false,
    preflights: options.preflights ?? false,
    bodyOf: refusalBody(body, options.problemJson ?? false),
    onRefused,
  });
}

/** @throws SpillwayError unless `value` looks like a limiter. */
export function requireLimiter(value: unknown, option: string): asserts value is RateLimiter {
  const limiter = value as Partial<RateLimiter> | null | undefined;
  if (typeof limiter?.consume !== "function" || typeof limiter.consumeNow !== "function")
    throw invalidOption(option, "a limiter of createRateLimiter()", value);
}

function addressGrouping(addresses: AddressGroupingOptions | undefined): PluginSettings["group"] {
  if (addresses !== undefined) requireMembers(addresses, "addresses", ["ipv6Subnet"]);
  try {
    return createAddressGrouping(addresses);
  } catch (cause) {
    throw invalidOption("addresses.ipv6Subnet", "a whole number from 1 to 128", addresses?.ipv6Subnet, cause);
  }
}
