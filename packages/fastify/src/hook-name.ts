import { invalidOption } from "./option-error.ts";

/** Where in Fastify's request life a route is guarded. `preHandler` is the first that sees the body. */
export type HookName = "onRequest" | "preParsing" | "preValidation" | "preHandler";

const HOOK_NAMES: readonly HookName[] = ["onRequest", "preParsing", "preValidation", "preHandler"];

/** @throws SpillwayError unless `value` is a hook name. */
export function requireHookName(value: unknown, option: string): HookName {
  const found = HOOK_NAMES.find((name) => name === value);
  if (found === undefined) throw invalidOption(option, `one of ${HOOK_NAMES.join(", ")}`, value);
  return found;
}
