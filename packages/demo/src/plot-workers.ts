import type { DemoRun } from "./document.ts";
import { at, axisTicks, escapeText, formatNumber, linearScale } from "./svg.ts";

const WIDTH = 1080;
const LEFT = 110;
const RIGHT = 90;
const TOP = 30;
const ROW = 46;
const BAR = 26;
const BOTTOM = 30;
const GAP = 2;
/** A segment narrower than this carries no number. */
const LABEL_WIDTH = 38;

/** One bar per mode, cut into what each worker admitted, against the bound that all of them share. */
export function renderWorkers(runs: readonly DemoRun[]): string {
  const height = TOP + runs.length * ROW + BOTTOM;
  const ticks = axisTicks(Math.max(1, ...runs.map((run) => Math.max(run.admitted, run.bound))), 6);
  const x = linearScale(ticks.at(-1)!, LEFT, WIDTH - RIGHT);
  const floor = height - BOTTOM;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(describe(runs))}">`,
    ...ticks.map(
      (tick) =>
        `<line class="${tick === 0 ? "axis" : "grid"}" x1="${at(x(tick))}" x2="${at(x(tick))}" y1="${TOP}" y2="${floor}"/>` +
        `<text class="tick" x="${at(x(tick))}" y="${floor + 18}" text-anchor="middle">${formatNumber(tick)}</text>`,
    ),
    ...runs.map((run, index) => renderRow(run, TOP + index * ROW, x)),
    ...runs.slice(0, 1).map((run) => boundLabel(run, x)),
    "</svg>",
  ].join("\n");
}

function renderRow(run: DemoRun, top: number, x: (value: number) => number): string {
  const barTop = top + (ROW - BAR) / 2;
  const middle = at(top + ROW / 2);
  let before = 0;
  const segments = run.perWorker.map((admitted, index) => {
    const from = x(before);
    before += admitted;
    const width = Math.max(0, x(before) - from - GAP);
    const label =
      width < LABEL_WIDTH
        ? ""
        : `<text class="on-bar" x="${at(from + width / 2)}" y="${middle}" dy="0.35em" text-anchor="middle">${formatNumber(admitted)}</text>`;
    return (
      `<g><title>${escapeText(`${run.mode}, worker ${index + 1}: ${formatNumber(admitted)} admitted`)}</title>` +
      `<rect class="bar" x="${at(from)}" y="${at(barTop)}" width="${at(width)}" height="${BAR}"/>${label}</g>`
    );
  });
  const bound = at(x(run.bound));
  const position = `x1="${bound}" x2="${bound}" y1="${at(top)}" y2="${at(top + ROW)}"`;
  return [
    `<text class="row-label" x="${LEFT - 12}" y="${middle}" dy="0.35em" text-anchor="end">${escapeText(run.mode)}</text>`,
    ...segments,
    `<line class="halo" ${position}/><line class="limit" ${position}/>`,
    `<text class="total" x="${at(Math.max(x(before), x(run.bound)) + 8)}" y="${middle}" dy="0.35em">${formatNumber(before)}</text>`,
  ].join("\n");
}

function boundLabel(run: DemoRun, x: (value: number) => number): string {
  const label = `bound ${formatNumber(run.bound)}`;
  return `<text class="limit-label" x="${at(x(run.bound))}" y="${TOP - 10}" text-anchor="middle">${label}</text>`;
}

function describe(runs: readonly DemoRun[]): string {
  return runs
    .map((run) => `${run.mode}: admitted per worker ${run.perWorker.join(", ")}, bound ${formatNumber(run.bound)}`)
    .join("; ");
}
