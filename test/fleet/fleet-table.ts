import { type FleetRow, percent, shortfallsOf } from "./fleet-row.ts";

const HEADER = [
  "four processes, twice the limit",
  "over",
  "used %",
  "calls/decision",
  "degraded",
  "clocks ±",
  "seed",
  "",
];

/** The rows of fleet runs as a table. */
export function fleetTable(rows: readonly FleetRow[]): string {
  const lines = [HEADER, ...rows.map(cellsOf)];
  const widths = HEADER.map((_name, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const short = rows.filter((row) => shortfallsOf(row).length > 0).length;
  const table = lines.map((line) => line.map(pad).join("  ").trimEnd());
  return [...table, `Runs: ${rows.length}, of which ${short} fall short.`].join("\n");
}

function cellsOf(row: FleetRow): string[] {
  const notes = [
    ...(shortfallsOf(row).length > 0 ? ["FALLS SHORT"] : []),
    ...(row.noise === undefined ? [] : [`${row.noise}: held to the bound alone`]),
  ];
  return [
    row.name,
    row.over.toFixed(row.over === 0 ? 0 : 2),
    percent(row.used),
    row.callsPerDecision.toFixed(4),
    `${row.degraded} of ${row.decisions}`,
    `${row.doubt.toFixed(2)} tokens`,
    String(row.seed),
    notes.join("; "),
  ];
}
