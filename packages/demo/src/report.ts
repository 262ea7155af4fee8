import type { DemoDocument, DemoRun } from "./document.ts";
import { modeNamed } from "./modes.ts";
import { renderPerSecond } from "./plot-per-second.ts";
import { renderWorkers } from "./plot-workers.ts";
import { REPORT_STYLE } from "./report-style.ts";
import { escapeText, formatNumber } from "./svg.ts";

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
  return (
    `<div class="card tile${run.admitted > run.bound ? " over" : ""}"><h3>${escapeText(run.mode)}</h3>` +
    `<b>${run.ratio.toFixed(2)} × <small>the limit</small></b><p>${formatNumber(run.admitted)} admitted, ` +
    `${formatNumber(run.bound)} allowed</p><p class="soft">${escapeText(modeNamed(run.mode).summary)}</p></div>`
  );
}

function renderPerSecondSection(document: DemoDocument): string {
  const perSecond = (document.limit * 1000) / document.periodMs;
  const most = Math.max(
    perSecond,
    ...document.runs.flatMap((run) => [...run.offeredPerSecond, ...run.admittedPerSecond]),
  );
  const plots = document.runs.map((run) =>
    panel(
      run.mode,
      renderPerSecond({
        description: `${run.mode}: admitted per second ${run.admittedPerSecond.join(", ")}`,
        bars: run.admittedPerSecond,
        behind: run.offeredPerSecond,
        line: { value: perSecond, label: `limit ${formatNumber(perSecond, 2)}/s` },
        most,
        noun: "admitted",
      }),
    ),
  );
  return [
    "<h2>Admitted each second</h2>",
    '<p class="soft">Answers 200 that the load generator received, by the second in which it sent the request. The first ' +
      "second holds the burst as well.</p>",
    '<div class="key"><span><i></i>admitted</span><span><i class="behind"></i>offered</span><span><i class="limit"></i>limit</span></div>',
    `<div class="plots">${plots.join("\n")}</div>`,
  ].join("\n");
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
  if (document.store === null) return "";
  const most = Math.max(1, ...document.runs.flatMap((run) => run.storeCallsPerSecond));
  const plots = document.runs.map((run) =>
    panel(
      run.mode,
      renderPerSecond({
        description: `${run.mode}: Redis calls per second ${run.storeCallsPerSecond.join(", ")}`,
        bars: run.storeCallsPerSecond,
        most,
        noun: "calls",
      }),
      `${formatNumber(run.storeCalls)} calls, ${run.callsPerDecision.toFixed(2)} per decision`,
    ),
  );
  return [
    "<h2>Redis calls each second</h2>",
    '<p class="soft">Script calls that the server counted, without the demo’s own look-ups.</p>',
    `<div class="plots">${plots.join("\n")}</div>`,
  ].join("\n");
}

function panel(title: string, plot: string, note = ""): string {
  const small = note === "" ? "" : ` <small>${escapeText(note)}</small>`;
  return `<div class="card"><h3>${escapeText(title)}${small}</h3>${plot}</div>`;
}

function renderFigures(document: DemoDocument): string {
  const columns: readonly (readonly [title: string, value: (run: DemoRun) => string])[] = [
    ["mode", (run) => run.mode],
    ["offered", (run) => formatNumber(run.offered)],
    ["admitted", (run) => formatNumber(run.admitted)],
    ["bound", (run) => run.bound.toFixed(1)],
    ["admitted / bound", (run) => run.ratio.toFixed(3)],
    ["Redis calls", (run) => formatNumber(run.storeCalls)],
    ["calls / decision", (run) => run.callsPerDecision.toFixed(2)],
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
    ["Connections", "One per request. Keep-alive would pin the load to few workers and hide the leak."],
    ["Schedule error", `Sent minus due, p50 / p99 / max: ${errors.join("; ")}.`],
    ["Request time", "From the instant a request was due to the end of its answer, so that waiting is never left out."],
    ["Decision time", "In the worker, from the call of the limiter to its decision."],
    ["Bound", "burst + rate × time, from the first request sent to the last answer received."],
    ["Warm-up", `Every one of the ${workers} workers answered in each mode before it was measured, under another key.`],
    ["Store", store === null ? "none needed" : `${store.kind} ${store.version}, ${store.from}`],
    ["Run", `${document.startedAt}, Node.js ${document.node}`],
  ];
  const items = entries.map(([term, text]) => `<dt>${term}</dt><dd>${escapeText(text)}</dd>`).join("\n");
  return `<h2>How it was measured</h2>\n<div class="card"><dl>${items}</dl></div>`;
}

function times(attempts: number): string {
  return attempts === 1 ? "once" : `${attempts} times, since the machine was too busy; the last one counts`;
}
