import type { Reporter, TestModule } from "vitest/node";
import type { ChaosRow } from "./chaos-row.ts";

const HEADER = ["fault", "missed", "p99.9 ms", "longest ms", "wrong", "admitted / bound", "back within ms", ""];

/** Prints the rows of all chaos tests as one table. */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules
      .flatMap((module) => Array.from(module.children.allTests()))
      .flatMap((test) => (test.meta() as { chaos?: ChaosRow }).chaos ?? []);
    if (rows.length === 0) return;
    process.stdout.write(`\n${tableOf(rows)}\n`);
  }
}

function tableOf(rows: readonly ChaosRow[]): string {
  const lines = [HEADER, ...rows.map(cellsOf)];
  const widths = HEADER.map((_name, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  const short = rows.filter(({ shortfalls }) => shortfalls.length > 0).length;
  return [...text, `${rows.length} faults, ${short} fall short.`].join("\n");
}

function cellsOf({
  fault,
  missed,
  p999Ms,
  longestMs,
  wrong,
  admitted,
  bound,
  backMs,
  shortfalls,
  attempts,
}: ChaosRow): string[] {
  const notes = [
    ...(shortfalls.length > 0 ? ["FALLS SHORT"] : []),
    ...(attempts > 1 ? [`run ${attempts}: the machine was busy`] : []),
  ];
  return [
    fault,
    String(missed),
    p999Ms.toFixed(1),
    longestMs.toFixed(1),
    String(wrong),
    (admitted / bound).toFixed(3),
    backMs.toFixed(0),
    notes.join("; "),
  ];
}
