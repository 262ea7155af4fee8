import { invalidOption } from "../option-error.ts";

/** Who asks whether the service lives must not hear that it is busy: it would be restarted at the worst moment. */
export const USUAL_EXEMPTIONS: readonly string[] = Object.freeze([
  "/health",
  "/health/*",
  "/healthz",
  "/livez",
  "/readyz",
  "/metrics",
]);

/** A step up or on the spot, as `new URL` and routers resolve them. */
const DOT_STEP = /[/\\](?:\.|%2e){1,2}(?:[/\\]|$)/i;

/**
 * Whether a path is one of the patterns: itself, or one that begins as a pattern does that ends in `*`. A path with steps such as
 * `/health/../search` begins like nothing: where it leads is not where it begins.
 */
export function isExempt(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) && !DOT_STEP.test(path) : path === pattern,
  );
}

/** @throws SpillwayError unless `value` is a list of paths. */
export function requirePatterns(value: unknown, option: string): asserts value is readonly string[] {
  const isList = Array.isArray(value) && value.every((pattern) => typeof pattern === "string" && /^[/*]/.test(pattern));
  if (!isList) throw invalidOption(option, 'a list of paths such as ["/health", "/internal/*"]', value);
}
