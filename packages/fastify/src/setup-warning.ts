import { onRejection, thrownText } from "spillway/kit";

/** Each has its section in `docs/warnings.md`. */
export type SetupWarningCode =
  | "SPILLWAY_WARN_TRUST_PROXY"
  | "SPILLWAY_WARN_SAME_KEY"
  | "SPILLWAY_WARN_COST_NEVER_FITS"
  | "SPILLWAY_WARN_COST_ZERO"
  | "SPILLWAY_WARN_POLICY_CLASH"
  | "SPILLWAY_WARN_ROUTE_NOT_LIMITED"
  | "SPILLWAY_WARN_DRY_RUN_FAULT";

/** A set-up that works, but hardly as it was meant. */
export interface SetupWarning {
  readonly code: SetupWarningCode;
  /** What is the case. */
  readonly message: string;
  /** What to do about it. */
  readonly help: string;
}

/** Is told of warnings. */
export type WarningListener = (warning: SetupWarning) => void;

const HELP: Readonly<Record<SetupWarningCode, string>> = {
  SPILLWAY_WARN_TRUST_PROXY:
    "If a proxy stands before this server, all callers behind it share one limit: set Fastify's trustProxy to the addresses " +
    "of your proxies, or give the option key. If there is none, the header was forged and nothing is wrong.",
  SPILLWAY_WARN_SAME_KEY:
    "All callers share one limit. Return what tells callers apart, or undefined for their address. For a limit on " +
    "everybody together, name its policy in the option keys.",
  SPILLWAY_WARN_COST_NEVER_FITS:
    "Every such request is refused, and no wait helps. Lower the cost, or raise the policy's burst (a window: its limit).",
  SPILLWAY_WARN_COST_ZERO:
    "The limit is never reached. Give a cost above 0, or exempt the route with config.spillway: false.",
  SPILLWAY_WARN_POLICY_CLASH:
    "Where both use one store and prefix, they count in the same buckets by different rules. Give each its own name.",
  SPILLWAY_WARN_ROUTE_NOT_LIMITED:
    "Register the plugin with await before the routes, or add the routes in a plugin of their own after it. Routes that " +
    "shall not be limited: add them after the plugin with config.spillway: false.",
  SPILLWAY_WARN_DRY_RUN_FAULT: "The dry run lets the request in. Without dryRun it would be answered with this error.",
};

/** A warning with its help. */
export function setupWarning(code: SetupWarningCode, message: string): SetupWarning {
  return Object.freeze({ code, message, help: HELP[code] });
}

/** The listener of a user: what it throws is its caller's matter, what a promise that it returns rejects with is a process warning. */
export function heardBy(listener: WarningListener): WarningListener {
  return (warning) => {
    onRejection(listener(warning), (error) => warnOfRejection(warning, error));
  };
}

function warnOfRejection({ code }: SetupWarning, error: unknown): void {
  process.emitWarning(`Option onWarning rejected when told of ${code}: ${thrownText(error)}`, "SpillwayWarning");
}

/** One process warning, with the code and the help. */
export function emitWarning({ code, message, help }: SetupWarning): void {
  process.emitWarning(message, { type: "SpillwayWarning", code, detail: help });
}
