import type { DemoDocument, DemoRun } from "./document.ts";
import type { OutageFigures } from "./measure.ts";
import { describeSkipped } from "./runnable-modes.ts";

interface Column {
  readonly title: string;
  readonly align: "left" | "right";
  value(run: DemoRun): string;
}

const COLUMNS: readonly Column[] = [
  { title: "mode", align: "left", value: (run) => run.mode },
  { title: "offered", align: "right", value: (run) => String(run.offered) },
  { title: "admitted", align: "right", value: (run) => String(run.admitted) },
  { title: "bound", align: "right", value: (run) => run.bound.toFixed(1) },
  { title: "admitted/bound", align: "right", value: (run) => run.ratio.toFixed(3) },
  { title: "calls/decision", align: "right", value: (run) => run.callsPerDecision.toFixed(3) },
  { title: "decision p50/p99 ms", align: "right", value: (run) => pair(run.decisionP50Ms, run.decisionP99Ms) },
  { title: "request p50/p99 ms", align: "right", value: (run) => pair(run.requestP50Ms, run.requestP99Ms) },
  { title: "degraded", align: "right", value: (run) => String(run.degraded) },
];

/** The figures of all modes as text: what was asked, a table, the workers' shares, and how punctual the generator was. */
export function renderTable(document: DemoDocument): string {
  const { limit, period, burst, workers, offeredPerSecond, seconds, seed, store, connection } = document;
  const lines = [
    `One API key, limited to ${limit} per ${period} with a burst of ${burst}, on ${workers} workers behind one port.`,
    `Offered: ${offeredPerSecond} requests per second for ${seconds} s in each mode, Poisson arrivals of seed ${seed}.`,
    `Connections: ${connection}.`,
  ];
  if (store !== null) lines.push(`Store: ${store.kind} ${store.version}, ${store.from}.`);
  lines.push(...document.skipped.map(describeSkipped));
  lines.push("", ...grid(document.runs), "");
  for (const run of document.runs) {
    lines.push(`${run.mode}: admitted per worker ${run.perWorker.join(", ")}; schedule error ${scheduleError(run)}`);
    lines.push(`${run.mode}: decided by ${sourcesOf(run)}`);
    if (run.outage !== null) lines.push(`${run.mode}: ${outageOf(document, run.outage)}`);
    if (run.attempts > 1) lines.push(`${run.mode}: measured ${run.attempts} times, the last one counts`);
  }
  lines.push("", "bound = burst + rate x time, from the first request sent to the last answer received");
  return lines.join("\n");
}

/** Each mark and whether it held. */
export function renderMarks(document: DemoDocument): string {
  return document.runs
    .flatMap((run) => run.marks.map((mark) => `${mark.held ? "ok    " : "MISSED"} ${run.mode}: ${mark.text}`))
    .join("\n");
}

function grid(runs: readonly DemoRun[]): string[] {
  const rows = [
    COLUMNS.map((column) => column.title),
    ...runs.map((run) => COLUMNS.map((column) => column.value(run))),
  ];
  const widths = COLUMNS.map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, index) =>
        COLUMNS[index]!.align === "left" ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!),
      )
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return lines;
}

/** Who decided how often, the most frequent first. */
export function sourcesOf({ sources }: DemoRun): string {
  const counts = Object.entries(sources).sort(([, one], [, other]) => other - one);
  return counts.map(([source, count]) => `${source} ${count}`).join(", ");
}

function outageOf({ limit, periodMs }: DemoDocument, outage: OutageFigures): string {
  const { fromSecond, toSecond, admitted, offered, degraded, decisionP99Ms } = outage;
  const allowed = ((limit * 1000) / periodMs) * (toSecond - fromSecond);
  return (
    `no store from ${fromSecond} to ${toSecond} s: ${offered} offered, ${admitted} admitted (rate x time ` +
    `${allowed.toFixed(1)}), ${degraded} degraded, decision p99 ${decisionP99Ms.toFixed(2)} ms`
  );
}

function scheduleError(run: DemoRun): string {
  const { p50Ms, p99Ms, maxMs } = run.scheduleError;
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, max ${maxMs.toFixed(2)} ms`;
}

function pair(p50Ms: number, p99Ms: number): string {
  return `${p50Ms.toFixed(2)} / ${p99Ms.toFixed(2)}`;
}
