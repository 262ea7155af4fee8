import { at, axisTicks, escapeText, formatNumber, labelRoom, linearScale } from "./svg.ts";

/** A plot of one figure over the seconds of a run. */
export interface PerSecondPlot {
  /** What a screen reader says. */
  readonly description: string;
  /** One bar per second. */
  readonly bars: readonly number[];
  /** Drawn behind the bars: what was asked for. */
  readonly behind?: readonly number[];
  /** A level to compare with, labelled at the right. */
  readonly line?: { readonly value: number; readonly label: string };
  /** A part of the time that is different, labelled at the top. */
  readonly span?: { readonly fromSecond: number; readonly toSecond: number; readonly label: string };
  /** The same for plots that stand side by side. */
  readonly most: number;
  /** What a bar counts: "admitted". */
  readonly noun: string;
  /** Of the drawing, in its own units; as wide as half a page when left out. */
  readonly width?: number;
}

const WIDTH = 520;
const HEIGHT = 238;
const LEFT = 44;
const RIGHT = 16;
const TOP = 20;
const BOTTOM = 26;
const MOST_BARS = 60;
const GAP = 2;

/** Some seconds taken together, with the average per second. */
export interface Bin {
  readonly fromSecond: number;
  readonly toSecond: number;
  readonly perSecond: number;
}

/** The plot as an SVG element. */
export function renderPerSecond(plot: PerSecondPlot): string {
  const ticks = axisTicks(plot.most, 5);
  const y = linearScale(ticks.at(-1)!, HEIGHT - BOTTOM, TOP);
  const width = plot.width ?? WIDTH;
  const right = width - (plot.line === undefined ? RIGHT : labelRoom(plot.line.label));
  const x = linearScale(Math.max(1, plot.bars.length), LEFT, right);
  const empty = plot.bars.every((value) => value === 0);
  return [
    `<svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escapeText(plot.description)}">`,
    ...ticks.map((tick) => gridLine(tick, y, right)),
    ...(plot.behind === undefined ? [] : [renderBehind(binned(plot.behind), x, y)]),
    ...(plot.span === undefined ? [] : [renderSpan(plot.span, x)]),
    ...renderBars(plot, x, y),
    ...secondLabels(plot.bars.length, x),
    ...(plot.line === undefined ? [] : [levelLine(plot.line, y, right)]),
    ...(empty
      ? [`<text class="tick" x="${(LEFT + right) / 2}" y="${HEIGHT / 2}" text-anchor="middle">none</text>`]
      : []),
    "</svg>",
  ].join("\n");
}

/** At most so many bins, each of as many seconds as it takes. */
export function binned(values: readonly number[], most: number = MOST_BARS): Bin[] {
  const size = Math.max(1, Math.ceil(values.length / most));
  const bins: Bin[] = [];
  for (let from = 0; from < values.length; from += size) {
    const slice = values.slice(from, from + size);
    const perSecond = slice.reduce((sum, value) => sum + value, 0) / slice.length;
    bins.push({ fromSecond: from, toSecond: from + slice.length, perSecond });
  }
  return bins;
}

type Scale = (value: number) => number;

function gridLine(tick: number, y: Scale, right: number): string {
  const level = at(y(tick));
  return (
    `<line class="${tick === 0 ? "axis" : "grid"}" x1="${LEFT}" x2="${right}" y1="${level}" y2="${level}"/>` +
    `<text class="tick" x="${LEFT - 8}" y="${level}" dy="0.35em" text-anchor="end">${formatNumber(tick, 2)}</text>`
  );
}

function renderSpan({ fromSecond, toSecond, label }: NonNullable<PerSecondPlot["span"]>, x: Scale): string {
  const [from, to] = [x(fromSecond), x(toSecond)];
  return (
    `<rect class="span" x="${at(from)}" y="${TOP}" width="${at(to - from)}" height="${HEIGHT - TOP - BOTTOM}"/>` +
    `<text class="span-label" x="${at((from + to) / 2)}" y="${TOP - 4}" text-anchor="middle">${escapeText(label)}</text>`
  );
}

function renderBehind(bins: readonly Bin[], x: Scale, y: Scale): string {
  const floor = at(y(0));
  const steps = bins.map((bin) => `L${at(x(bin.fromSecond))} ${at(y(bin.perSecond))}H${at(x(bin.toSecond))}`).join("");
  return `<path class="behind" d="M${at(x(0))} ${floor}${steps}V${floor}Z"/>`;
}

function renderBars(plot: PerSecondPlot, x: Scale, y: Scale): string[] {
  const behind = plot.behind === undefined ? [] : binned(plot.behind);
  return binned(plot.bars).map((bin, index) => {
    const left = x(bin.fromSecond) + GAP / 2;
    const width = Math.max(1, x(bin.toSecond) - x(bin.fromSecond) - GAP);
    const when =
      bin.toSecond - bin.fromSecond === 1
        ? `second ${bin.toSecond}`
        : `seconds ${bin.fromSecond + 1} to ${bin.toSecond}`;
    const offered = behind[index];
    const title =
      `${when}: ${formatNumber(bin.perSecond, 1)} ${plot.noun} per second` +
      (offered === undefined ? "" : `, ${formatNumber(offered.perSecond, 1)} offered`);
    return (
      `<g><title>${escapeText(title)}</title>` +
      `<rect class="hit" x="${at(left)}" y="${TOP}" width="${at(width)}" height="${HEIGHT - TOP - BOTTOM}"/>` +
      `<rect class="bar" x="${at(left)}" y="${at(y(bin.perSecond))}" width="${at(width)}" ` +
      `height="${at(y(0) - y(bin.perSecond))}"/></g>`
    );
  });
}

function secondLabels(seconds: number, x: Scale): string[] {
  const ticks = axisTicks(seconds, 5).filter((tick) => tick <= seconds && Number.isInteger(tick));
  return ticks.map((tick, index) => {
    const label = index === ticks.length - 1 ? `${tick} s` : String(tick);
    return `<text class="tick" x="${at(x(tick))}" y="${HEIGHT - 8}" text-anchor="middle">${label}</text>`;
  });
}

function levelLine(line: { readonly value: number; readonly label: string }, y: Scale, right: number): string {
  const level = at(y(line.value));
  const position = `x1="${LEFT}" x2="${right}" y1="${level}" y2="${level}"`;
  return (
    `<line class="halo" ${position}/><line class="limit" ${position}/>` +
    `<text class="limit-label" x="${right + 8}" y="${level}" dy="0.35em">${escapeText(line.label)}</text>`
  );
}
