/** Rows under their titles, for a terminal: the first column to the left, the others to the right. */
export function renderRows(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [titles, ...rows];
  const widths = titles.map((_, i) => Math.max(...all.map((row) => (row[i] ?? "").length)));
  return all.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** Milliseconds for people. */
export function showMs(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "never";
  if (ms < 1000) return `${Math.round(ms * 1000) / 1000} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${(ms / 60_000).toFixed(1)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}
