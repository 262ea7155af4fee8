import {
  type AcquireOptions,
  type Admission,
  type DeadlineOptions,
  deadlineReader,
  isExempt,
  requirePatterns,
  type Shed,
  type ShedReply,
  shedReplies,
  USUAL_EXEMPTIONS,
} from "@spillway/admission";
import type { FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { invalidOption, requireMembers, requireType } from "./option-error.ts";

/** Options of the plugin; those of `config.spillwayAdmission` override them for a route. */
export interface SpillwayAdmissionOptions extends DeadlineOptions<FastifyRequest> {
  /** From `createAdmission`. The plugin never closes it. */
  readonly admission: Admission;
  /** Whether routes without `config.spillwayAdmission` are guarded too. Defaults to true. */
  readonly global?: boolean;
  /**
   * Routes that are always served, by their full path. A `*` at the end stands for anything. Defaults to `/health`, `/health/*`,
   * `/healthz`, `/livez`, `/readyz` and `/metrics`. A route's own `config.spillwayAdmission` goes before it.
   */
  readonly exempt?: readonly string[];
  /** Whether CORS preflights need a slot, and can be refused. Defaults to false. */
  readonly preflights?: boolean;
  /** Sends refusals as `application/problem+json` (RFC 9457). Defaults to false. */
  readonly problemJson?: boolean;
  /**
   * Whether refusals pass the `onSend` hooks of the app. Headers that earlier hooks have set go along in any case. Defaults to
   * false: they are written straight to the connection, which costs less.
   */
  readonly onSend?: boolean;
  /** Whether refusals are logged: one line a second at most, with their number. Defaults to true. */
  readonly log?: boolean;
  /**
   * Is told of each refusal before it is sent. What it throws goes to the error handler in place of the refusal. A promise that it
   * returns is not waited for; that it rejected is logged as an error.
   */
  readonly onShed?: (request: FastifyRequest, shed: Shed) => void;
}

/** `config.spillwayAdmission` of a route. What is left out is as in the plugin's options. */
export interface SpillwayAdmissionRouteOptions {
  /** How many slots a request takes: whole, from 1. Defaults to 1. */
  readonly cost?: number | ((request: FastifyRequest) => number);
  /** Guards this route in place of the plugin's. */
  readonly admission?: Admission;
  /** How long the answer is of use, in ms: above 0. Defaults to the route's `handlerTimeout`, then to none. */
  readonly deadlineMs?: number;
}

/** How one route is guarded. */
export interface AdmissionRule {
  readonly admission: Admission;
  readonly askOf: (request: FastifyRequest, reply: FastifyReply) => AcquireOptions | undefined;
  readonly skipsPreflights: boolean;
  readonly replyOf: (shed: Shed) => ShedReply;
  readonly onSend: boolean;
  readonly log: boolean;
  readonly onShed: SpillwayAdmissionOptions["onShed"];
}

const MEMBERS = [
  "admission",
  "global",
  "exempt",
  "preflights",
  "problemJson",
  "onSend",
  "log",
  "onShed",
  "deadlineMs",
  "readDeadline",
  "maxDeadlineMs",
];
/** Fastify's own options of `register`, which reach the plugin too. */
const REGISTER_MEMBERS = ["prefix", "logLevel", "logSerializers"];

/**
 * Checks the options of the plugin and gives the function that makes a route's rule, or `undefined` for one that is not guarded.
 * @param handlerTimeoutMs the app's own; 0 for none.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`, both at once and for a route's own options.
 */
export function admissionRules(
  options: SpillwayAdmissionOptions,
  handlerTimeoutMs: number,
): (route: RouteOptions) => AdmissionRule | undefined {
  requireMembers(options, "options", [...MEMBERS, ...REGISTER_MEMBERS]);
  const { admission, exempt = USUAL_EXEMPTIONS, problemJson = false, onSend = false, log = true, onShed } = options;
  requireAdmission(admission, "admission");
  requirePatterns(exempt, "exempt");
  for (const name of ["global", "preflights", "problemJson", "onSend", "log"] as const)
    requireType(options[name], name, "boolean");
  requireType(onShed, "onShed", "function");
  deadlineReader(options);
  const replyOf = shedReplies(problemJson);
  return (route) => {
    const config: unknown = route.config?.spillwayAdmission;
    if (config === false) return undefined;
    if (config === undefined && (options.global === false || isExempt(exempt, route.url))) return undefined;
    const own = config === undefined || config === true ? {} : requireRouteOptions(config);
    const deadlineMs = own.deadlineMs ?? options.deadlineMs ?? (timeoutOf(route) || handlerTimeoutMs || undefined);
    const deadlineOf = deadlineReader(deadlineMs === undefined ? options : { ...options, deadlineMs });
    const skipsPreflights = options.preflights !== true && [route.method].flat().includes("OPTIONS");
    const askOf = askFunction(deadlineOf, own.cost);
    const given = { admission: own.admission ?? admission, onSend, log, onShed };
    return Object.freeze({ ...given, askOf, skipsPreflights, replyOf });
  };
}

function askFunction(
  deadlineOf: (request: FastifyRequest) => number,
  cost: SpillwayAdmissionRouteOptions["cost"],
): AdmissionRule["askOf"] {
  return (request, reply) => {
    const deadlineMs = deadlineOf(request);
    if (cost === undefined && deadlineMs === Number.POSITIVE_INFINITY) return undefined;
    const asked = typeof cost === "function" ? cost(request) : (cost ?? 1);
    // What has passed since the request came, as far as Fastify knows it.
    return { cost: asked, deadlineMs: deadlineMs - reply.elapsedTime };
  };
}

/** The route's own time limit, in ms; older Fastify has none. */
function timeoutOf(route: RouteOptions & { readonly handlerTimeout?: number }): number | undefined {
  return route.handlerTimeout;
}

function requireRouteOptions(config: unknown): SpillwayAdmissionRouteOptions {
  const name = "config.spillwayAdmission";
  if (typeof config !== "object" || config === null || Array.isArray(config))
    throw invalidOption(name, "true, false or an object", config);
  requireMembers(config, name, ["cost", "admission", "deadlineMs"]);
  const { cost, admission, deadlineMs } = config as SpillwayAdmissionRouteOptions;
  if (admission !== undefined) requireAdmission(admission, `${name}.admission`);
  const isCost = cost === undefined || typeof cost === "function" || (Number.isSafeInteger(cost) && cost >= 1);
  if (!isCost) throw invalidOption(`${name}.cost`, "a whole number from 1, or a function", cost);
  if (deadlineMs !== undefined && !(typeof deadlineMs === "number" && deadlineMs > 0))
    throw invalidOption(`${name}.deadlineMs`, "a number of ms above 0", deadlineMs);
  return config;
}

function requireAdmission(value: unknown, option: string): asserts value is Admission {
  const admission = value as Partial<Admission> | null | undefined;
  if (typeof admission?.enter !== "function" || typeof admission.stats !== "function")
    throw invalidOption(option, "a controller of createAdmission()", value);
}
