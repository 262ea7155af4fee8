import type { Findings } from "./experiment.ts";

/** The findings of several parts of one experiment, in order, under one sentence. */
export function joined(parts: readonly Findings[]): Findings {
  return {
    tables: parts.flatMap(({ tables }) => tables),
    plots: parts.flatMap(({ plots }) => plots),
    marks: parts.flatMap(({ marks }) => marks),
    summary: parts
      .map(({ summary }) => summary)
      .filter((text) => text !== "")
      .join(" "),
  };
}
