import type { Decision } from "spillway";

/** The field of an answer in which a server says how it decided. */
export const DECISION_FIELD = "x-decision";

/** How a server decided about one request, as its answer says. */
export interface DecisionNote {
  /** One of the limiter's decision sources. */
  readonly source: string;
  /** Whether the store had no part in it because it cannot answer. */
  readonly degraded: boolean;
  /** From the call of the limiter to its decision, in the server. */
  readonly durationMs: number;
}

const NOTE = /^([a-z-]+)(;degraded)?;ms=(\d+\.\d+)$/;

/** The field's value. */
export function writeDecisionNote({ source, degraded }: Decision, durationMs: number): string {
  return `${source}${degraded ? ";degraded" : ""};ms=${durationMs.toFixed(3)}`;
}

/** @returns `undefined` for what `writeDecisionNote` does not write. */
export function readDecisionNote(value: string): DecisionNote | undefined {
  const match = NOTE.exec(value);
  if (match === null) return undefined;
  return { source: match[1]!, degraded: match[2] !== undefined, durationMs: Number(match[3]) };
}
