/** Text as HTML and SVG want it. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A number for people: thousands parted, and as many decimals as it needs up to `decimals`. */
export function formatNumber(value: number, decimals = 0): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: decimals });
}

/** Round values from 0 to the first one that is not below `most`: about `count` steps of 1, 2 or 5 times a power of ten. */
export function axisTicks(most: number, count: number): number[] {
  if (!(most > 0)) return [0, 1];
  const roughStep = most / count;
  const power = 10 ** Math.floor(Math.log10(roughStep));
  const step =
    [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= roughStep * 0.999) ?? power;
  const ticks: number[] = [];
  for (let tick = 0; ticks.length === 0 || ticks.at(-1)! < most; tick++)
    ticks.push(Number((tick * step).toPrecision(12)));
  return ticks;
}

/** Maps `0..most` to `from..to`. */
export function linearScale(most: number, from: number, to: number): (value: number) => number {
  return (value) => from + (value / most) * (to - from);
}

/** A coordinate, short. */
export function at(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** How wide a label at the right of a plot is, with what parts it from the plot. */
export function labelRoom(label: string): number {
  return 8 + 7.5 * label.length;
}
