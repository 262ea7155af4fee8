import { parseArgs } from "node:util";
import { type ConnectionMode, connectionModeFor } from "./connection-mode.ts";
import type { StoreChoice } from "./demo-store.ts";
import { MODE_NAMES, MODES } from "./modes.ts";

/** What the demo was asked to do, checked and complete. */
export interface DemoOptions {
  readonly modes: readonly string[];
  readonly seconds: number;
  readonly workers: number;
  readonly limit: number;
  /** As written, for example `1s`. */
  readonly period: string;
  readonly periodMs: number;
  readonly burst: number;
  readonly offeredPerSecond: number;
  readonly connections: ConnectionMode;
  readonly store: StoreChoice;
  /** Of the arrival schedule; the same for every mode. */
  readonly seed: number;
  /** Where the HTML report goes. */
  readonly report: string;
  readonly json: boolean;
  /** Keeps a server running in place of measuring. */
  readonly serve: boolean;
}

/** An option that cannot be used: the message says which, what was expected and what came. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const PERIOD = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/;

const SHAPE = {
  modes: { type: "string" },
  seconds: { type: "string" },
  workers: { type: "string" },
  limit: { type: "string" },
  burst: { type: "string" },
  period: { type: "string" },
  offered: { type: "string" },
  seed: { type: "string" },
  connections: { type: "string" },
  store: { type: "string" },
  report: { type: "string" },
  json: { type: "boolean" },
  serve: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/**
 * Reads the command line.
 * @param freshSeed the seed when none is given.
 * @returns `"help"` when help was asked for.
 * @throws OptionError naming the first option that cannot be used.
 */
export function parseOptions(args: readonly string[], freshSeed: number): DemoOptions | "help" {
  const given = parse(args);
  if (given.help === true) return "help";
  requireUseful(given);
  const offeredPerSecond = readWhole("--offered", given.offered, 400, 1, 10_000);
  const period = given.period ?? "1s";
  return {
    modes: readModes(given.modes),
    seconds: readWhole("--seconds", given.seconds, 10, 1, 600),
    workers: readWhole("--workers", given.workers, 4, 1, 64),
    limit: readWhole("--limit", given.limit, 70, 1, 1_000_000),
    period,
    periodMs: readPeriodMs(period),
    burst: readWhole("--burst", given.burst, 20, 1, 1_000_000),
    offeredPerSecond,
    connections: readConnections(given.connections, offeredPerSecond),
    store: readStore(given.store),
    seed: readWhole("--seed", given.seed, freshSeed, 0, 2 ** 32 - 1),
    report: readReport(given.report),
    json: given.json === true,
    serve: given.serve === true,
  };
}

/** What `--help` prints. */
export function helpText(): string {
  const modes = MODES.map((mode) => `                     ${mode.name.padEnd(13)}${mode.summary}`);
  return [
    "Shows what happens to one rate limit when several workers enforce it, and writes a report.",
    "",
    "  --modes a,b      which modes to run, one after another; all by default:",
    ...modes,
    "  --seconds n      how long each mode runs: 1 to 600, 10 by default",
    "  --workers n      worker processes behind one port: 1 to 64, 4 by default",
    "  --limit n        requests per period that one API key may do: 1 to 1000000, 70 by default",
    "  --period p       such as 500ms, 1s, 1m: from 1ms to 24h, 1s by default",
    "  --burst n        how many requests an idle key saves up: 1 to 1000000, 20 by default",
    "  --offered n      requests per second that are sent: 1 to 10000, 400 by default",
    "  --seed n         of the arrival times: 0 to 4294967295; drawn and printed by default",
    "  --connections c  per-request, or kept: open for the whole run, as many to each worker;",
    "                   kept by default when more than 1000 requests per second are offered",
    "  --store s        where the shared modes count: redis, or embedded in the primary process;",
    "                   by default redis, and embedded where no Redis can be had",
    "  --report file    where the HTML report goes, demo-report.html by default",
    "  --json           prints one JSON document on the last line of stdout, everything else on stderr",
    "  --serve          measures nothing: keeps the workers up and shows live figures until Ctrl-C",
    "  --help           prints this",
    "",
    "SPILLWAY_REDIS_URL names a Redis server to use. Without it the demo starts one and stops it.",
    "Exit codes: 0 all marks held, 1 a mark was missed or something failed, 2 an option cannot be used.",
  ].join("\n");
}

type Given = {
  -readonly [Name in keyof typeof SHAPE]?: (typeof SHAPE)[Name]["type"] extends "string" ? string : boolean;
};

function parse(args: readonly string[]): Given {
  try {
    const { values } = parseArgs({ args: [...args], options: SHAPE, strict: true, allowPositionals: false });
    return values;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new OptionError(`${message.split(/\.[ \n]|\n/, 1)[0]?.replace(/\.$/, "")}.`);
  }
}

/** What only a measurement uses says nothing to a server. */
const OF_MEASUREMENTS = ["seconds", "seed", "report", "json"] as const;

function requireUseful(given: Given): void {
  const idle = given.serve === true ? OF_MEASUREMENTS.find((name) => given[name] !== undefined) : undefined;
  if (idle !== undefined) throw new OptionError(`--serve measures nothing and has no use for --${idle}.`);
}

function readStore(text: string | undefined): StoreChoice {
  if (text === undefined) return "any";
  if (text === "redis" || text === "embedded") return text;
  throw new OptionError(`--store must be redis or embedded, got ${JSON.stringify(text)}.`);
}

function readConnections(text: string | undefined, offeredPerSecond: number): ConnectionMode {
  if (text === undefined) return connectionModeFor(offeredPerSecond);
  if (text === "per-request") return "one per request";
  if (text === "kept") return "kept open, dealt out evenly";
  throw new OptionError(`--connections must be per-request or kept, got ${JSON.stringify(text)}.`);
}

function readModes(text: string | undefined): readonly string[] {
  if (text === undefined) return MODE_NAMES;
  const names = text.split(",").map((name) => name.trim());
  for (const [index, name] of names.entries()) {
    if (!MODE_NAMES.includes(name))
      throw new OptionError(`--modes must list some of ${MODE_NAMES.join(", ")}, got ${JSON.stringify(name)}.`);
    if (names.indexOf(name) !== index) throw new OptionError(`--modes lists ${name} twice.`);
  }
  return names;
}

function readWhole(option: string, text: string | undefined, otherwise: number, least: number, most: number): number {
  if (text === undefined) return otherwise;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new OptionError(`${option} must be a whole number from ${least} to ${most}, got ${JSON.stringify(text)}.`);
  return value;
}

function readPeriodMs(text: string): number {
  const match = PERIOD.exec(text);
  const ms = match === null ? Number.NaN : Number(match[1]) * UNIT_MS[match[2]!]!;
  if (!(ms >= 1 && ms <= 86_400_000))
    throw new OptionError(
      `--period must be a time from 1ms to 24h such as 500ms, 1s or 1m, got ${JSON.stringify(text)}.`,
    );
  return ms;
}

function readReport(text: string | undefined): string {
  if (text === "") throw new OptionError("--report must name a file, got an empty name.");
  return text ?? "demo-report.html";
}
