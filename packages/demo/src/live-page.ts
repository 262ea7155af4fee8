import { LIVE_SECONDS, type LiveFigures, type LiveSecond } from "./live-figures.ts";
import { LIVE_STYLE } from "./live-style.ts";
import { limitPerSecond } from "./marks.ts";
import type { LimitShape } from "./measure.ts";
import { modeNamed } from "./modes.ts";
import { renderLive, WORKER_COLOURS } from "./plot-live.ts";
import { REPORT_STYLE } from "./report-style.ts";
import { escapeText, formatNumber } from "./svg.ts";

/** What the page is about; it does not change while it is shown. */
export interface LiveScene {
  readonly shape: LimitShape & { readonly period: string };
  readonly modes: readonly string[];
  /** The workers' names. */
  readonly workers: readonly string[];
  /** In words. */
  readonly store: string;
  /** What the form offers at first. */
  readonly perSecond: number;
  /** Whether the page can take the store away. */
  readonly canCut: boolean;
  /** The address of a mode's route. */
  urlOf(mode: string): string;
}

/** What is going on besides the answers. */
export interface LiveState {
  /** The load that is being sent, in words; empty for none. */
  readonly load: string;
  /** Whether the workers can reach the store in mode `outage`. */
  readonly isStoreReachable: boolean;
  /** Calls that the store served in the last second; `undefined` without a store. */
  readonly callsPerSecond: number | undefined;
  /** What happened last, in words, the newest first. */
  readonly events: readonly string[];
}

/** The page: it needs nothing else and fills itself from the stream of figures beside it. */
export function renderPage(scene: LiveScene): string {
  const { shape, workers, modes } = scene;
  return [
    "<!doctype html>",
    '<html lang="en">',
    '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    '<link rel="icon" href="data:,">',
    `<title>Spillway demo, live</title><style>${REPORT_STYLE}${LIVE_STYLE}</style></head>`,
    "<body><main>",
    `<h1>One limit, ${workers.length} workers, live</h1>`,
    `<p class="soft">One API key may do ${formatNumber(shape.limit)} requests per ${escapeText(shape.period)}, with a burst of ` +
      `${formatNumber(shape.burst)}. ${escapeText(scene.store)}</p>`,
    renderControls(scene),
    '<p id="state" class="soft" role="status">Waiting for the first second.</p>',
    `<div class="key">${workers.map(workerKey).join("")}<span><i class="limit"></i>limit of all together</span>` +
      '<span><i class="away"></i>decided without the store</span></div>',
    `<div class="plots">${modes.map(renderPanel).join("\n")}</div>`,
    '<h2>What happened</h2><div class="card"><ol id="events"><li class="soft">Nothing yet.</li></ol></div>',
    renderByHand(scene),
    `<script>${SCRIPT}</script>`,
    "</main></body></html>",
    "",
  ].join("\n");
}

/** The parts of the page that change, by their ids. */
export function renderParts(
  scene: LiveScene,
  figures: LiveFigures,
  state: LiveState,
  lastSecond: number,
): Record<string, string> {
  const perSecond = limitPerSecond(scene.shape);
  const parts: Record<string, string> = { state: stateLine(scene, state) };
  parts.events =
    state.events.map((event) => `<li>${escapeText(event)}</li>`).join("") || '<li class="soft">Nothing yet.</li>';
  for (const mode of scene.modes) {
    const minute = figures.minuteUntil(lastSecond, mode);
    parts[`plot-${mode}`] = renderLive(mode, minute, perSecond);
    parts[`note-${mode}`] = noteOf(minute.at(-1)!);
  }
  return parts;
}

function noteOf({ admitted, offered, degraded }: LiveSecond): string {
  if (offered === 0) return '<span class="soft">nothing asked in the last second</span>';
  const total = admitted.reduce((sum, count) => sum + count, 0);
  const alone = degraded === 0 ? "" : `, ${formatNumber(degraded)} decided without the store`;
  return `<b>${formatNumber(total)}</b> admitted of ${formatNumber(offered)} in the last second${alone}`;
}

function stateLine({ canCut }: LiveScene, { load, isStoreReachable, callsPerSecond }: LiveState): string {
  const parts = [load === "" ? "No load is being sent from here." : load];
  if (callsPerSecond !== undefined)
    parts.push(`The store served ${formatNumber(callsPerSecond)} calls in the last second.`);
  if (canCut && !isStoreReachable) parts.push("In mode outage the store is out of reach.");
  return escapeText(parts.join(" "));
}

function renderControls({ modes, canCut, perSecond }: LiveScene): string {
  const options = modes.map((mode) => `<option${mode === "lease" ? " selected" : ""}>${escapeText(mode)}</option>`);
  return [
    '<div class="card">',
    '<form id="load" class="controls">',
    `<label>Mode <select name="mode">${options.join("")}</select></label>`,
    `<label>Requests per second <input name="perSecond" type="number" min="1" max="10000" value="${perSecond}" required></label>`,
    '<label>For seconds <input name="seconds" type="number" min="1" max="600" value="60" required></label>',
    '<button>Send load</button><button type="button" id="stop">Stop</button>',
    "</form>",
    canCut ? STORE_CONTROLS : "",
    '<output id="answer"></output>',
    "</div>",
  ].join("\n");
}

const STORE_CONTROLS =
  '<div class="controls"><span class="soft">In mode outage</span><button id="cut">Take the store away</button>' +
  '<button id="mend">Give it back</button></div>';

function renderPanel(mode: string): string {
  const name = escapeText(mode);
  return (
    `<div class="card"><h3>${name} <small>${escapeText(modeNamed(mode).summary)}</small></h3>` +
    `<div id="plot-${name}" class="plot"></div><p id="note-${name}" class="note"></p></div>`
  );
}

function workerKey(name: string, index: number): string {
  return `<span><i class="worker-${index % WORKER_COLOURS}"></i>worker ${index + 1} <small>${escapeText(name)}</small></span>`;
}

function renderByHand({ modes, urlOf }: LiveScene): string {
  const lines = modes.map((mode) => `curl -i -H "x-api-key: me" ${urlOf(mode)}`);
  return (
    `<h2>By hand</h2><div class="card"><p class="soft">Each API key has a limit of its own. The plots show the last ` +
    `${LIVE_SECONDS} seconds of all keys together.</p><pre>${escapeText(lines.join("\n"))}</pre></div>`
  );
}

const SCRIPT = `
const part = (id) => document.getElementById(id);
const figures = new EventSource("figures");
figures.onmessage = (event) => {
  for (const [id, html] of Object.entries(JSON.parse(event.data))) part(id).innerHTML = html;
};
figures.onerror = () => { part("state").textContent = "The demo does not answer; it may have been stopped."; };
const ask = async (method, path, body) => {
  try {
    const response = await fetch(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    part("answer").textContent = response.ok ? "" : (await response.json()).message;
  } catch {
    part("answer").textContent = "The demo does not answer.";
  }
};
part("load").onsubmit = (event) => {
  event.preventDefault();
  const { mode, perSecond, seconds } = Object.fromEntries(new FormData(event.target));
  ask("POST", "load", { mode, perSecond: Number(perSecond), seconds: Number(seconds) });
};
part("stop").onclick = () => ask("DELETE", "load", {});
if (part("cut")) part("cut").onclick = () => ask("POST", "store", { reachable: false });
if (part("mend")) part("mend").onclick = () => ask("POST", "store", { reachable: true });
`;
