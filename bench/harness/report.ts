import type { CaseResult } from "./document.ts";

/** A case as lines of text: who, the median with the middle half of the rounds, CPU time, and ours / peer. */
export function renderCase(result: CaseResult): string {
  const { name, unit, better, contestant, ours, peers, ratios, spread, cpuUs, disqualified, marks } = result;
  const rows = [["", unit, "middle half", "CPU us each", "ours / this"]];
  const row = (who: string, value: number, ratio: number | undefined): void => {
    const [low, high] = spread[who] ?? [value, value];
    rows.push([who, figure(value), `${figure(low)} to ${figure(high)}`, figure(cpuUs[who] ?? 0), ratioText(ratio)]);
  };
  if (ours !== null) row(contestant, ours, undefined);
  for (const [peer, value] of Object.entries(peers)) row(peer, value, ratios[peer]);
  const lines = [`${name}: ${unit}, ${better} is better`, ...aligned(rows)];
  for (const [who, reason] of Object.entries(disqualified)) lines.push(`  ${who} is not timed: ${reason}`);
  for (const { text, met } of marks) lines.push(`  ${met ? "met   " : "MISSED"} ${text}`);
  return lines.join("\n");
}

function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? "" : ratio.toFixed(2);
}

/** Three figures, or the whole part where it is longer. */
function figure(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)));
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `  ${cells.join("  ")}`.trimEnd();
  });
}
