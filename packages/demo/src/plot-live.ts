import type { LiveSecond } from "./live-figures.ts";
import { at, axisTicks, escapeText, formatNumber, labelRoom, linearScale } from "./svg.ts";

const WIDTH = 520;
const HEIGHT = 220;
const LEFT = 44;
const TOP = 12;
const BOTTOM = 26;
const GAP = 1;
const LABEL_EVERY = 15;
/** How many colours the style sheet has for workers; with more workers they repeat. */
export const WORKER_COLOURS = 8;

/** What each worker admitted in each of the last seconds, one upon the other, against the limit that all of them share. */
export function renderLive(mode: string, seconds: readonly LiveSecond[], limitPerSecond: number): string {
  const totals = seconds.map(({ admitted }) => admitted.reduce((sum, count) => sum + count, 0));
  const ticks = axisTicks(Math.max(1.5 * limitPerSecond, ...totals), 4);
  const y = linearScale(ticks.at(-1)!, HEIGHT - BOTTOM, TOP);
  const label = `limit ${formatNumber(limitPerSecond, 2)}/s`;
  const right = WIDTH - labelRoom(label);
  const x = linearScale(seconds.length, LEFT, right);
  const level = at(y(limitPerSecond));
  const position = `x1="${LEFT}" x2="${right}" y1="${level}" y2="${level}"`;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(`${mode}: ${totals.at(-1)} admitted`)}">`,
    ...ticks.map((tick) => gridLine(tick, y, right)),
    ...seconds.flatMap((second, index) => renderSecond(second, index, x, y)),
    ...agoLabels(seconds.length, x),
    `<line class="halo" ${position}/><line class="limit" ${position}/>`,
    `<text class="limit-label" x="${right + 8}" y="${level}" dy="0.35em">${label}</text>`,
    "</svg>",
  ].join("\n");
}

type Scale = (value: number) => number;

function gridLine(tick: number, y: Scale, right: number): string {
  const level = at(y(tick));
  return (
    `<line class="${tick === 0 ? "axis" : "grid"}" x1="${LEFT}" x2="${right}" y1="${level}" y2="${level}"/>` +
    `<text class="tick" x="${LEFT - 8}" y="${level}" dy="0.35em" text-anchor="end">${formatNumber(tick, 2)}</text>`
  );
}

/** Worker 1 lowest. A second in which decisions were made without the store has a mark under the axis. */
function renderSecond({ admitted, offered, degraded }: LiveSecond, index: number, x: Scale, y: Scale): string[] {
  if (offered === 0) return [];
  const [from, width] = [at(x(index)), at(x(1) - x(0) - GAP)];
  let below = 0;
  const bars = admitted.map((count, worker) => {
    const [top, floor] = [y(below + count), y(below)];
    below += count;
    const style = `bar worker-${worker % WORKER_COLOURS}`;
    return `<rect class="${style}" x="${from}" y="${at(top)}" width="${width}" height="${at(floor - top)}"/>`;
  });
  const away = `<rect class="away" x="${from}" y="${HEIGHT - BOTTOM + 2}" width="${width}" height="4"/>`;
  const title = `${admitted.join(" + ")} = ${below} admitted of ${offered}, ${degraded} without the store`;
  return [`<g><title>${title}</title>${bars.join("")}${degraded > 0 ? away : ""}</g>`];
}

function agoLabels(length: number, x: Scale): string[] {
  const labels: string[] = [];
  for (let ago = length; ago >= 0; ago -= LABEL_EVERY) {
    const label = ago === 0 ? "now" : `${ago} s ago`;
    labels.push(`<text class="tick" x="${at(x(length - ago))}" y="${HEIGHT - 5}" text-anchor="middle">${label}</text>`);
  }
  return labels;
}
