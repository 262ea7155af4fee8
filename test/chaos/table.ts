import type { ChaosRow, SkippedRow } from "./chaos-row.ts";

const COLUMNS: readonly { readonly title: string; cellOf(row: ChaosRow): string }[] = [
  { title: "fault", cellOf: ({ fault }) => fault },
  { title: "over, % of b", cellOf: ({ bound }) => percents([Math.max(0, bound.most - 1)]) },
  { title: "stated", cellOf: ({ bound }) => percents([Math.max(0, bound.stated - 1)]) },
  { title: "used, % of r x T", cellOf: ({ used }) => percents([used.uniform, used.zipf, used["one-hot"]]) },
  { title: "admitted", cellOf: ({ admitted }) => admitted.toFixed(3) },
  { title: "missed", cellOf: ({ missed }) => String(missed) },
  { title: "wrong", cellOf: ({ wrong }) => String(wrong) },
  { title: "p99.9 ms", cellOf: ({ p999Ms }) => p999Ms.toFixed(1) },
  { title: "once open", cellOf: ({ openP999Ms }) => (Number.isNaN(openP999Ms) ? "-" : openP999Ms.toFixed(2)) },
  { title: "back ms", cellOf: ({ backMs }) => backMs.toFixed(0) },
];

/** A table for a terminal. */
export function tableOf(rows: readonly ChaosRow[], skipped: readonly SkippedRow[]): string {
  const lines = [COLUMNS.map(({ title }) => title), ...rows.map(cellsOf)];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const notes = ["", ...rows.map(noteOf)];
  const text = lines.map((line, i) => {
    const cells = line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return [...cells, notes[i]].join("  ").trimEnd();
  });
  const left = skipped.map(({ fault, reason }) => `${fault}  skipped: ${reason}`);
  const short = rows.filter(({ shortfalls }) => shortfalls.length > 0);
  const reasons = short.flatMap(({ fault, shortfalls }) => shortfalls.map((reason) => `  ${fault}: ${reason}`));
  return [...text, ...left, `${rows.length} faults, ${short.length} fall short.`, ...reasons].join("\n");
}

/** The same table for a page. */
export function pageTableOf(rows: readonly ChaosRow[], skipped: readonly SkippedRow[]): string {
  const lines = [
    [...COLUMNS.map(({ title }) => title), "note"],
    COLUMNS.map((_, column) => (column === 0 ? "---" : "---:")).concat("---"),
    ...rows.map((row) => [...cellsOf(row), noteOf(row)]),
    ...skipped.map(({ fault, reason }) => [fault, ...COLUMNS.slice(1).map(() => ""), `skipped: ${reason}`]),
  ];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

function cellsOf(row: ChaosRow): string[] {
  return COLUMNS.map(({ cellOf }) => cellOf(row));
}

function noteOf({ shortfalls, noise }: ChaosRow): string {
  const busy = noise === undefined ? [] : [`busy machine (${noise}): times not judged`];
  return [...(shortfalls.length > 0 ? ["FALLS SHORT"] : []), ...busy].join("; ");
}

/** Parts as whole percents; a dash where there are none. */
function percents(parts: readonly (number | undefined)[]): string {
  return parts.map((part) => (part === undefined ? "-" : String(Math.round(100 * part)))).join(" / ");
}
