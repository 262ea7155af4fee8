import type { DemoRun } from "./document.ts";
import { at, axisTicks, escapeText, formatNumber, linearScale } from "./svg.ts";

const WIDTH = 1080;
const HEIGHT = 260;
const LEFT = 56;
/** Room for the labels of the lines. */
const RIGHT = 200;
const TOP = 14;
const BOTTOM = 28;
const LABEL_GAP = 17;

/** The calls per second of several modes in one plot: a line for each, labelled where it ends. */
export function renderCalls(runs: readonly DemoRun[]): string {
  const seconds = Math.max(1, ...runs.map((run) => run.storeCallsPerSecond.length));
  const ticks = axisTicks(Math.max(1, ...runs.flatMap((run) => run.storeCallsPerSecond)), 5);
  const x = linearScale(seconds, LEFT, WIDTH - RIGHT);
  const y = linearScale(ticks.at(-1)!, HEIGHT - BOTTOM, TOP);
  const labels = spread(runs.map((run) => y(run.storeCallsPerSecond.at(-1) ?? 0)));
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(describe(runs))}">`,
    ...ticks.map((tick) => gridLine(tick, y)),
    ...secondLabels(seconds, x),
    ...runs.map((run, index) => renderLine(run, index, x, y)),
    ...runs.map(
      (run, index) =>
        `<text class="line-label line-${index}" x="${WIDTH - RIGHT + 4}" y="${at(labels[index]!)}" dy="0.35em">` +
        `${escapeText(run.mode)}, ${formatNumber(run.callsPerDecision, 3)} per decision</text>`,
    ),
    "</svg>",
  ].join("\n");
}

function gridLine(tick: number, y: (value: number) => number): string {
  const level = at(y(tick));
  return (
    `<line class="${tick === 0 ? "axis" : "grid"}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${level}" y2="${level}"/>` +
    `<text class="tick" x="${LEFT - 8}" y="${level}" dy="0.35em" text-anchor="end">${formatNumber(tick, 2)}</text>`
  );
}

function secondLabels(seconds: number, x: (value: number) => number): string[] {
  const ticks = axisTicks(seconds, 10).filter((tick) => tick <= seconds && Number.isInteger(tick));
  return ticks.map((tick, index) => {
    const label = index === ticks.length - 1 ? `${tick} s` : String(tick);
    return `<text class="tick" x="${at(x(tick))}" y="${HEIGHT - 8}" text-anchor="middle">${label}</text>`;
  });
}

/** Each second's calls at its middle. */
function renderLine(run: DemoRun, index: number, x: (value: number) => number, y: (value: number) => number): string {
  const points = run.storeCallsPerSecond.map((calls, second) => [at(x(second + 0.5)), at(y(calls))] as const);
  const dots = points.map(([cx, cy], second) => {
    const calls = formatNumber(run.storeCallsPerSecond[second]!, 1);
    const title = `${run.mode}, second ${second + 1}: ${calls} calls per second`;
    return `<circle class="line-${index}" cx="${cx}" cy="${cy}" r="4"><title>${escapeText(title)}</title></circle>`;
  });
  const path = points.map(([px, py]) => `${px},${py}`).join(" ");
  return `<polyline class="line-${index}" points="${path}"/>\n${dots.join("\n")}`;
}

/** The same heights, moved apart where labels would lie on each other. */
function spread(heights: readonly number[]): number[] {
  const order = heights.map((_, index) => index).sort((one, other) => heights[one]! - heights[other]!);
  const moved = [...heights];
  for (const [place, index] of order.entries()) {
    const above = order[place - 1];
    if (above !== undefined) moved[index] = Math.max(heights[index]!, moved[above]! + LABEL_GAP);
  }
  // Pushed below the axis: all of them go up together.
  const excess = Math.max(0, Math.max(...moved) - (HEIGHT - BOTTOM));
  return moved.map((height) => height - excess);
}

function describe(runs: readonly DemoRun[]): string {
  return runs.map((run) => `${run.mode}: calls per second ${run.storeCallsPerSecond.join(", ")}`).join("; ");
}
