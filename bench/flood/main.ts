import { setMaxListeners } from "node:events";
import { runFlood } from "./flood.ts";
import { FloodOptionError, type FloodOptions, parseFloodOptions, USAGE } from "./options.ts";
import { NoAnswerError, requireAnswer } from "./probe.ts";
import { renderFlood } from "./report.ts";

const EXIT_NO_ANSWER = 1;
const EXIT_BAD_OPTION = 2;
const EXIT_INTERRUPTED = 130;

/** Runs the command and gives back its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseFloodOptions(args);
    if (options === "help") {
      process.stdout.write(USAGE);
      return 0;
    }
    return await run(options);
  } catch (error) {
    if (!(error instanceof FloodOptionError || error instanceof NoAnswerError)) throw error;
    process.stderr.write(`${error.message}\n`);
    if (error instanceof NoAnswerError) return EXIT_NO_ANSWER;
    process.stderr.write("npm run flood -- --help says what there is.\n");
    return EXIT_BAD_OPTION;
  }
}

async function run(options: FloodOptions): Promise<number> {
  const ended = new AbortController();
  // Each of the callers who measure the capacity listens.
  setMaxListeners(0, ended.signal);
  const end = (): void => {
    // The second Ctrl-C does not wait for anything.
    if (ended.signal.aborted) process.exit(EXIT_INTERRUPTED);
    ended.abort();
  };
  process.on("SIGINT", end).on("SIGTERM", end);
  try {
    await requireAnswer(options, ended.signal);
    const report = await runFlood(options, (text) => void process.stderr.write(`${text}\n`), ended.signal);
    const out = options.json ? process.stderr : process.stdout;
    out.write(`\n${renderFlood(report)}\n`);
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`);
    return report.endedEarly ? EXIT_INTERRUPTED : 0;
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
  }
}
