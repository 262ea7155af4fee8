import { randomInt } from "node:crypto";
import { constants, existsSync, statSync } from "node:fs";
import { access, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { OpenParts } from "./demo-parts.ts";
import { type DemoDocument, missedMarks } from "./document.ts";
import { type DemoOptions, helpText, OptionError, parseOptions } from "./options.ts";
import { ProgressLine } from "./progress.ts";
import { renderReport } from "./report.ts";
import { runDemo } from "./run-demo.ts";
import { renderMarks, renderTable } from "./table.ts";

const EXIT_MISSED = 1;
const EXIT_BAD_OPTION = 2;
const LINGER_MS = 1000;
const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** A signal asked the demo to end. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly exitCode: number;

  constructor(signal: keyof typeof SIGNAL_EXITS) {
    super(`Stopped by ${signal}.`);
    this.exitCode = SIGNAL_EXITS[signal];
  }
}

/** How to run the demo. */
export interface DemoWays {
  readonly open: OpenParts;
  /** What `--serve` does, until it is told to end. Left out where it is not possible. */
  readonly serve?: (options: DemoOptions, progress: ProgressLine, ended: AbortSignal) => Promise<void>;
}

/** Runs the demo as a command, and sets the exit code of this process. */
export function runCommand(args: readonly string[], ways: DemoWays): void {
  exitCodeOf(args, ways).then(endWith, (error: unknown) => {
    console.error(error);
    endWith(EXIT_MISSED);
  });
}

/**
 * Lets this process end. Everything is closed by now, but for what Node keeps: a worker that is killed while a connection is
 * handed to it leaves the cluster's own server open for ever.
 */
function endWith(exitCode: number): void {
  process.exitCode = exitCode;
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

async function exitCodeOf(args: readonly string[], { open, serve }: DemoWays): Promise<number> {
  const options = await readOptions(args, serve !== undefined);
  if (typeof options === "number") return options;
  const interruption = interruptible();
  try {
    const progress = new ProgressLine(process.stderr, () => performance.now());
    if (options.serve) {
      await serve?.(options, progress, interruption);
      return 0;
    }
    return await present(await runDemo(options, progress, interruption, open), options);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return error instanceof Interrupted ? error.exitCode : EXIT_MISSED;
  }
}

/** The options, or the exit code when there is nothing to run. */
async function readOptions(args: readonly string[], canServe: boolean): Promise<DemoOptions | number> {
  try {
    const options = parseOptions(args, randomInt(2 ** 32));
    if (options === "help") {
      console.log(helpText());
      return 0;
    }
    if (options.serve && !canServe) throw new OptionError("--serve is not for replicas that others started.");
    if (!options.serve) await requireWritable(options.report);
    return options;
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(`${error.message}\nRun it with --help for all options.`);
    return EXIT_BAD_OPTION;
  }
}

/** A run takes a while: better to say now that its report cannot be written. */
async function requireWritable(report: string): Promise<void> {
  const file = resolve(report);
  try {
    await access(dirname(file), constants.W_OK);
    if (existsSync(file)) await access(file, constants.W_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new OptionError(`--report must name a file that can be written, got ${JSON.stringify(report)} (${reason}).`);
  }
  if (existsSync(file) && !statSync(file).isFile())
    throw new OptionError(`--report must name a file, got ${JSON.stringify(report)}, which is something else.`);
}

/** The first signal stops the demo in order; a second one of the same kind ends it at once. */
function interruptible(): AbortSignal {
  const controller = new AbortController();
  for (const signal of Object.keys(SIGNAL_EXITS) as (keyof typeof SIGNAL_EXITS)[])
    process.once(signal, () => controller.abort(new Interrupted(signal)));
  return controller.signal;
}

/** Prints table, marks and, last on stdout, the JSON document; writes the report. */
async function present(document: DemoDocument, options: DemoOptions): Promise<number> {
  const print = options.json ? console.error : console.log;
  print(`${renderTable(document)}\n\n${renderMarks(document)}`);
  const file = resolve(options.report);
  await writeFile(file, renderReport(document));
  print(`\nReport: ${file}`);
  if (options.json) console.log(JSON.stringify(document));
  const missed = missedMarks(document);
  for (const line of missed) console.error(`Missed mark: ${line}`);
  return missed.length === 0 ? 0 : EXIT_MISSED;
}
