import type { FloodReport, FloodStep } from "./flood.ts";

/** From here on requests leave so late that the figures are those of this machine. */
const LATE_MS = 20;
const COLUMNS = [
  "offered",
  "per s",
  "requests",
  "in time",
  "503/429",
  "errors",
  "timeouts",
  "p50 ms",
  "p99 ms",
  "goodput/s",
];

/** The table, and what is to be said about it. */
export function renderFlood(report: FloodReport): string {
  const { url, method, capacity, steps, patienceMs } = report;
  const about =
    capacity === null
      ? ""
      : `, which answers ${capacity.perSecond.toFixed(1)} a second to ${capacity.concurrency} callers`;
  return [
    `${method} ${url}${about}; callers wait ${patienceMs} ms`,
    "",
    ...(steps.length === 0 ? ["Nothing was offered."] : tableOf([COLUMNS, ...steps.map(cellsOf)])),
    "",
    ...notesOn(report),
  ].join("\n");
}

function cellsOf(step: FloodStep): string[] {
  const { name, offeredPerSecond, offered, inTime, refused, errors, timeouts, p50Ms, p99Ms, goodput } = step;
  const ms = (value: number | null): string => (value === null ? "-" : value.toFixed(0));
  return [
    ...[name, offeredPerSecond.toFixed(1), `${offered}`, `${inTime}`, `${refused}`, `${errors}`, `${timeouts}`],
    ...[ms(p50Ms), ms(p99Ms), goodput.toFixed(1)],
  ];
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  "),
  );
}

function notesOn({ steps, lateSendP99Ms, endedEarly, patienceMs }: FloodReport): string[] {
  const notes = endedEarly ? ["Ended early: the last step is incomplete."] : [];
  if (lateSendP99Ms > LATE_MS)
    notes.push(
      `Requests left up to ${lateSendP99Ms.toFixed(0)} ms late: this machine may have been the bottleneck, not the service.`,
    );
  const errors = errorsOf(steps);
  if (errors !== "") notes.push(`Errors: ${errors}.`);
  const verdict = verdictOn(steps, patienceMs);
  return verdict === undefined ? notes : [...notes, verdict];
}

function errorsOf(steps: readonly FloodStep[]): string {
  const counts: Record<string, number> = {};
  for (const { answers } of steps)
    for (const [what, count] of Object.entries(answers))
      if (!/^(2\d\d|503|429|timeout)$/.test(what)) counts[what] = (counts[what] ?? 0) + count;
  return Object.entries(counts)
    .map(([what, count]) => `${count} x ${what}`)
    .join(", ");
}

/** Whether goodput stands where more is offered than the best step gave. */
function verdictOn(steps: readonly FloodStep[], patienceMs: number): string | undefined {
  const best = Math.max(...steps.map(({ goodput }) => goodput));
  const most = steps.toSorted((a, b) => b.offeredPerSecond - a.offeredPerSecond)[0];
  if (steps.length < 2 || most === undefined || best <= 0) return undefined;
  const part = most.goodput / best;
  const share = `At ${most.offeredPerSecond.toFixed(0)}/s it answers ${(100 * part).toFixed(0)} % of its best goodput (${best.toFixed(1)}/s) in time`;
  if (part >= 0.9) return `${share}: it stands.`;
  const isPatient = most.timeouts > most.refused;
  return isPatient
    ? `${share}: it works for callers who have given up after ${patienceMs} ms. A bounded line and an early 503 would keep it up.`
    : `${share}: turning callers away costs it more than it should, or it turns away more than it has to.`;
}
