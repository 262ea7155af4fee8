import { explainConnections } from "./connection-mode.ts";
import type { DemoDocument, DemoRun } from "./document.ts";
import { limitPerSecond } from "./marks.ts";
import type { OutageFigures } from "./measure.ts";
import { modeNamed } from "./modes.ts";
import { renderCalls } from "./plot-calls.ts";
import { type PerSecondPlot, renderPerSecond } from "./plot-per-second.ts";
import { renderWorkers } from "./plot-workers.ts";
import { REPORT_STYLE } from "./report-style.ts";
import { escapeText, formatNumber } from "./svg.ts";
import { sourcesOf } from "./table.ts";

/** The demo's result as one HTML page that needs nothing else: no network, no script. */
export function renderReport(document: DemoDocument): string {
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Spillway demo: one limit, ${document.workers} workers</title><style>${REPORT_STYLE}</style></head>`,
    "<body><main>",
    renderHead(document),
    renderPerSecondSection(document),
    renderWorkersSection(document),
    renderCallsSection(document),
    renderFigures(document),
    renderMarks(document),
    renderMethod(document),
    "</main></body></html>",
    "",
  ].join("\n");
}

function renderHead(document: DemoDocument): string {
  const { limit, period, burst, workers, offeredPerSecond, seconds } = document;
  return [
    `<h1>One limit, ${workers} workers</h1>`,
    `<p class="soft">One API key may do ${formatNumber(limit)} requests per ${escapeText(period)}, with a burst of ` +
      `${formatNumber(burst)}. ${formatNumber(offeredPerSecond)} requests per second were offered for ${seconds} s in each mode.</p>`,
    '<div class="tiles">',
    ...document.runs.map(renderTile),
    "</div>",
  ].join("\n");
}

function renderTile(run: DemoRun): string {
  const missed = run.marks.some((mark) => mark.kind === "ceiling" && !mark.held);
  const isOver = missed || run.admitted > run.bound;
  return (
    `<div class="card tile${isOver ? " over" : ""}"><h3>${escapeText(run.mode)}</h3>` +
    `<b>${run.ratio.toFixed(2)} × <small>the limit</small></b><p>${formatNumber(run.admitted)} admitted, ` +
    `${formatNumber(run.bound)} allowed</p><p class="soft">${escapeText(modeNamed(run.mode).summary)}</p></div>`
  );
}

function renderPerSecondSection(document: DemoDocument): string {
  const most = Math.max(
    limitPerSecond(document),
    ...document.runs.flatMap((run) => [...run.offeredPerSecond, ...run.admittedPerSecond]),
  );
  const plots = document.runs.map((run) =>
    panel(run.mode, renderPerSecond({ ...admittedPlot(document, run), behind: run.offeredPerSecond, most })),
  );
  return [
    "<h2>Admitted each second</h2>",
    '<p class="soft">Answers 200 that the load generator received, by the second in which it sent the request. The first ' +
      "second holds the burst as well.</p>",
    '<div class="key"><span><i></i>admitted</span><span><i class="behind"></i>offered</span><span><i class="limit"></i>limit</span></div>',
    `<div class="plots">${plots.join("\n")}</div>`,
    ...document.runs.filter((run) => run.outage !== null).map((run) => renderCloseUp(document, run)),
  ].join("\n");
}

/** The admissions of a run with an outage on a scale of their own: whether they stay at the limit. */
function renderCloseUp(document: DemoDocument, run: DemoRun): string {
  const most = Math.max(1.5 * limitPerSecond(document), ...run.admittedPerSecond);
  const plot = renderPerSecond({ ...admittedPlot(document, run), most, width: 1080 });
  return `<div class="close-up">${panel(`${run.mode}, close up`, `<div class="scroll">${plot}</div>`)}</div>`;
}

function admittedPlot(document: DemoDocument, run: DemoRun): Omit<PerSecondPlot, "most"> {
  const perSecond = limitPerSecond(document);
  return {
    description: `${run.mode}: admitted per second ${run.admittedPerSecond.join(", ")}`,
    bars: run.admittedPerSecond,
    line: { value: perSecond, label: `limit ${formatNumber(perSecond, 2)}/s` },
    noun: "admitted",
    ...(run.outage === null ? {} : { span: { ...run.outage, label: "store out of reach" } }),
  };
}

function renderWorkersSection(document: DemoDocument): string {
  return [
    "<h2>Admitted by each worker</h2>",
    '<p class="soft">Each bar is a whole run, cut into what its workers admitted. The bound is burst + rate × time and holds ' +
      "for all workers together.</p>",
    `<div class="card scroll">${renderWorkers(document.runs)}</div>`,
  ].join("\n");
}

function renderCallsSection(document: DemoDocument): string {
  const runs = document.runs.filter((run) => modeNamed(run.mode).sharesStore);
  if (document.store === null || runs.length === 0) return "";
  const how =
    document.store.kind === "redis"
      ? "Script calls that the server counted, without the demo’s own look-ups. "
      : "Messages of workers that reached the primary. ";
  return [
    `<h2>${callsNoun(document)} each second</h2>`,
    `<p class="soft">${how}At the end of each line stands how many calls a decision took.</p>`,
    `<div class="card scroll">${renderCalls(runs)}</div>`,
  ].join("\n");
}

function callsNoun({ store }: DemoDocument): string {
  return store?.kind === "embedded" ? "Store calls" : "Redis calls";
}

function panel(title: string, plot: string): string {
  return `<div class="card"><h3>${escapeText(title)}</h3>${plot}</div>`;
}

function renderFigures(document: DemoDocument): string {
  const columns: readonly (readonly [title: string, value: (run: DemoRun) => string])[] = [
    ["mode", (run) => run.mode],
    ["offered", (run) => formatNumber(run.offered)],
    ["admitted", (run) => formatNumber(run.admitted)],
    ["bound", (run) => run.bound.toFixed(1)],
    ["admitted / bound", (run) => run.ratio.toFixed(3)],
    [callsNoun(document), (run) => formatNumber(run.storeCalls)],
    ["calls / decision", (run) => run.callsPerDecision.toFixed(3)],
    ["decision p50 / p99 ms", (run) => `${run.decisionP50Ms.toFixed(2)} / ${run.decisionP99Ms.toFixed(2)}`],
    ["request p50 / p99 ms", (run) => `${run.requestP50Ms.toFixed(2)} / ${run.requestP99Ms.toFixed(2)}`],
    ["degraded", (run) => formatNumber(run.degraded)],
  ];
  const head = columns.map(([title]) => `<th scope="col">${title}</th>`).join("");
  const rows = document.runs.map(
    (run) => `<tr>${columns.map(([, value]) => `<td>${escapeText(value(run))}</td>`).join("")}</tr>`,
  );
  return [
    "<h2>All figures</h2>",
    `<div class="card scroll"><table><thead><tr>${head}</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`,
  ].join("\n");
}

function renderMarks(document: DemoDocument): string {
  const items = document.runs.flatMap((run) =>
    run.marks.map((mark) => {
      const word = mark.held ? '<span class="held">held</span>' : '<span class="missed">missed</span>';
      return `<li>${word}${escapeText(`${run.mode}: ${mark.text}`)}</li>`;
    }),
  );
  return `<h2>What had to hold</h2>\n<div class="card"><ul class="marks">${items.join("\n")}</ul></div>`;
}

function renderMethod(document: DemoDocument): string {
  const { store, seed, workers } = document;
  const errors = document.runs.map(
    (run) =>
      `${run.mode} ${run.scheduleError.p50Ms.toFixed(2)} / ${run.scheduleError.p99Ms.toFixed(2)} / ${run.scheduleError.maxMs.toFixed(2)} ms`,
  );
  const entries: readonly (readonly [term: string, text: string])[] = [
    [
      "Arrivals",
      `Poisson, seed ${seed}, the same for every mode; sent on schedule whether or not earlier ones returned.`,
    ],
    ["Runs", document.runs.map((run) => `${run.mode} measured ${times(run.attempts)}`).join("; ")],
    ["Connections", explainConnections(document.connection)],
    ["Schedule error", `Sent minus due, p50 / p99 / max: ${errors.join("; ")}.`],
    ["Request time", "From the instant a request was due to the end of its answer, so that waiting is never left out."],
    ["Decisions", "Each answer says who decided it, whether without the store, and how long that took in the worker."],
    ["Decided by", document.runs.map((run) => `${run.mode}: ${sourcesOf(run)}`).join("; ")],
    ...document.runs.flatMap((run) => (run.outage === null ? [] : [outageEntry(run.mode, run.outage)])),
    ["Bound", "burst + rate × time, from the first request sent to the last answer received."],
    ["Warm-up", `Every one of the ${workers} workers answered in each mode before it was measured, under another key.`],
    ["Store", store === null ? "none needed" : `${store.kind} ${store.version}, ${store.from}`],
    ...document.skipped.map(({ mode, reason }) => ["Left out", `${mode}: ${reason}`] as const),
    ["Run", `${document.startedAt}, Node.js ${document.node}`],
  ];
  const items = entries.map(([term, text]) => `<dt>${term}</dt><dd>${escapeText(text)}</dd>`).join("\n");
  return `<h2>How it was measured</h2>\n<div class="card"><dl>${items}</dl></div>`;
}

function outageEntry(mode: string, outage: OutageFigures): readonly [string, string] {
  const { fromSecond, toSecond, offered, admitted, degraded, decisionP50Ms, decisionP99Ms } = outage;
  const text =
    `In ${mode} no worker reached the store from ${fromSecond} to ${toSecond} s. Of ${formatNumber(offered)} requests sent ` +
    `meanwhile ${formatNumber(degraded)} were decided without it and ${formatNumber(admitted)} admitted; decision p50 / p99 ` +
    `${decisionP50Ms.toFixed(2)} / ${decisionP99Ms.toFixed(2)} ms.`;
  return ["Outage", text];
}

function times(attempts: number): string {
  return attempts === 1 ? "once" : `${attempts} times, since the machine was too busy; the last one counts`;
}
