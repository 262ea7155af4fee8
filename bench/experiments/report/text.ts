import { type Finished, isMissed, type LabMark, type LabTable, shown } from "../experiment.ts";

/** What an experiment found, for a terminal. */
export function renderFindings({ name, asks, findings }: Finished): string {
  const marks = findings.marks.map((mark) => `  ${stateOf(mark)} ${mark.text}`);
  return [`${name}: ${asks}`, ...findings.tables.map(renderTable), ...marks].join("\n");
}

function renderTable({ caption, columns, rows }: LabTable): string {
  const cells = [columns, ...rows.map((row) => row.map(cellText))];
  const widths = columns.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
  const lines = cells.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  "),
  );
  return [`\n${caption}`, ...lines.map((line) => `  ${line.trimEnd()}`)].join("\n");
}

/** A cell as text. */
export function cellText(cell: string | number): string {
  return typeof cell === "number" ? shown(cell) : cell;
}

function stateOf(mark: LabMark): string {
  return mark.met ? "met   " : isMissed(mark) ? "MISSED" : "unsure";
}
