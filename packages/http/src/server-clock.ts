import { readHttpDate } from "./http-date.ts";

/**
 * The server's clock at a response, by its `Date`, which has whole seconds and so is never ahead; else the caller's clock.
 * @param lines fields by lower-case name.
 */
export function serverClock(lines: ReadonlyMap<string, string>, nowMs: number): number {
  return readHttpDate(lines.get("date") ?? "", nowMs) ?? nowMs;
}
