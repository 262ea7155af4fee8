import type { LabPlot, Series } from "../experiment.ts";

const WIDTH = 760;
const HEIGHT = 300;
const LEFT = 62;
const RIGHT = 170;
const TOP = 32;
const BOTTOM = 44;
const TICKS = 5;
/** Between two labels at the right. */
const LABEL_GAP = 15;

type Scale = (value: number) => number;

/** A plot as an SVG element; lines are named at their right ends. */
export function renderPlot(plot: LabPlot): string {
  const points = plot.series.flatMap(({ points }) => points);
  const xs = points.map(([x]) => x);
  const ys = [...points.map(([, y]) => y), plot.level?.value ?? 0];
  const [fromX, toX] = [Math.min(...xs), Math.max(...xs)];
  const ticks = axisTicks(Math.max(...ys));
  const x: Scale = (value) => LEFT + ((value - fromX) / (toX - fromX || 1)) * (WIDTH - LEFT - RIGHT);
  const y: Scale = (value) => HEIGHT - BOTTOM - (value / (ticks.at(-1) as number)) * (HEIGHT - TOP - BOTTOM);
  const labels = spread(plot.series.map(({ points }) => y(points.at(-1)?.[1] ?? 0)));
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(plot.title)}">`,
    ...ticks.map((tick) => gridLine(tick, y)),
    ...xTicks(fromX, toX).map((tick) => text(x(tick), HEIGHT - BOTTOM + 18, tickText(tick), "tick", "middle")),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, plot.xLabel, "axis-label", "middle"),
    text(8, 14, plot.yLabel, "axis-label", "start"),
    ...(plot.level === undefined ? [] : [levelLine(plot.level, y)]),
    ...plot.series.map((series, i) => line(series, i, x, y)),
    ...plot.series.map(({ name }, i) => text(WIDTH - RIGHT + 8, labels[i] as number, name, `name s${i % 8}`, "start")),
    "</svg>",
  ].join("\n");
}

/** Text as HTML and SVG want it. */
export function escapeText(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function axisTicks(most: number): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) ?? power;
  const ticks: number[] = [];
  for (let tick = 0; ticks.length === 0 || (ticks.at(-1) as number) < most; tick++)
    ticks.push(Number((tick * step).toPrecision(12)));
  return ticks;
}

function xTicks(from: number, to: number): number[] {
  return axisTicks(to - from)
    .map((tick) => from + tick)
    .filter((tick) => tick <= to);
}

function tickText(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 2 });
}

function gridLine(tick: number, y: Scale): string {
  const level = at(y(tick));
  const rule = `<line class="${tick === 0 ? "axis" : "grid"}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${level}" y2="${level}"/>`;
  return rule + text(LEFT - 8, y(tick) + 4, tickText(tick), "tick", "end");
}

function levelLine({ value, label }: NonNullable<LabPlot["level"]>, y: Scale): string {
  const level = at(y(value));
  const rule = `<line class="level" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${level}" y2="${level}"/>`;
  return rule + text(WIDTH - RIGHT - 6, y(value) - 5, label, "level-label", "end");
}

function line({ name, points }: Series, index: number, x: Scale, y: Scale): string {
  const path = points.map(([px, py], i) => `${i === 0 ? "M" : "L"}${at(x(px))} ${at(y(py))}`).join("");
  return `<path class="line s${index % 8}" d="${path}"><title>${escapeText(name)}</title></path>`;
}

function text(x: number, y: number, value: string, kind: string, anchor: string): string {
  return `<text class="${kind}" x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escapeText(value)}</text>`;
}

/** Moves labels apart that would lie on one another. */
function spread(heights: readonly number[]): number[] {
  const order = heights.map((_, i) => i).sort((a, b) => (heights[a] as number) - (heights[b] as number));
  const moved = [...heights];
  let last = Number.NEGATIVE_INFINITY;
  for (const i of order) {
    moved[i] = Math.max(moved[i] as number, last + LABEL_GAP);
    last = moved[i] as number;
  }
  const below = last - (HEIGHT - BOTTOM);
  return below > 0 ? moved.map((height) => height - below + 4) : moved.map((height) => height + 4);
}

function at(value: number): string {
  return String(Math.round(value * 100) / 100);
}
