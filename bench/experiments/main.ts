import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machine } from "../harness/environment.ts";
import { type Experiment, type Finished, isMissed, type Lab } from "./experiment.ts";
import { EXPERIMENTS } from "./index.ts";
import { preferThisProcess } from "./load/prefer.ts";
import { renderLabPage } from "./report/lab-page.ts";
import { savePictures } from "./report/pictures.ts";
import { renderFindings } from "./report/text.ts";

const EXIT_MISSED = 1;
const EXIT_BAD_OPTION = 2;

const USAGE = `npm run lab -- [NAME ...] [--quick] [--json] [--seed N] [--rounds N] [--out FOLDER]

Runs experiments on this machine, all of them unless some are named, and writes one report with tables and plots (HTML), the
plots as pictures (PNG, where a Chromium is installed) and the raw figures (JSON). Exits with 1 when a mark was missed.
What runs on the clock of this machine waits for a calm moment, repeats what was disturbed, and takes the median of --rounds.
Where it stays restless, a mark that is not met is called unsure: it was not missed either.

Experiments:`;

interface LabOptions {
  readonly names: readonly string[];
  readonly quick: boolean;
  readonly json: boolean;
  readonly seed: number;
  readonly rounds: number;
  readonly folder: string;
}

export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (typeof options === "number") return options;
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const out = options.json ? process.stderr : process.stdout;
  const lab: Lab = { quick: options.quick, rounds: options.rounds, seed: options.seed, say };
  preferThisProcess();
  const finished: Finished[] = [];
  for (const experiment of EXPERIMENTS) {
    if (options.names.length > 0 && !options.names.includes(experiment.name)) continue;
    say(`== ${experiment.name}: ${experiment.asks}`);
    const one = await runOne(experiment, lab);
    finished.push(one);
    out.write(`\n${renderFindings(one)}\n`);
  }
  const document = { experiments: finished, quick: options.quick, seed: options.seed, machine: machine() };
  await mkdir(options.folder, { recursive: true });
  await writeFile(join(options.folder, "lab.json"), `${JSON.stringify(document, undefined, 2)}\n`);
  const page = join(options.folder, "lab.html");
  await writeFile(page, renderLabPage(finished, machine()));
  const pictures = await savePictures(page, options.folder, say);
  say(`\nReport: ${page}${pictures > 0 ? `, ${pictures} pictures beside it` : ""}`);
  const unsure = finished.flatMap(({ findings }) => findings.marks).filter(({ isUnsure }) => isUnsure === true).length;
  if (unsure > 0)
    say(`This machine was too restless to decide ${unsure} marks. More --rounds, or a calmer moment, may.`);
  for (const { name, findings } of finished) out.write(`${name}: ${findings.summary}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(document)}\n`);
  return finished.every(({ findings }) => !findings.marks.some(isMissed)) ? 0 : EXIT_MISSED;
}

async function runOne(experiment: Experiment, lab: Lab): Promise<Finished> {
  const startMs = performance.now();
  const findings = await experiment.run(lab);
  return { name: experiment.name, asks: experiment.asks, seconds: (performance.now() - startMs) / 1000, findings };
}

/** The options, or the exit code when there is nothing to run. */
function readOptions(args: readonly string[]): LabOptions | number {
  const usage = [USAGE, ...EXPERIMENTS.map(({ name, asks }) => `  ${name.padEnd(14)} ${asks}`), ""].join("\n");
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        out: { type: "string", default: "lab-report" },
        quick: { type: "boolean", default: false },
        rounds: { type: "string", default: "1" },
        seed: { type: "string", default: "1" },
      },
    });
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
    const seed = Number(values.seed);
    if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed takes a whole number, got ${values.seed}.`);
    const rounds = Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
      throw new Error(`--rounds takes a whole number from 1 to 100, got ${values.rounds}.`);
    const known = EXPERIMENTS.map(({ name }) => name);
    for (const name of positionals)
      if (!known.includes(name)) throw new Error(`There is no experiment ${name}; there are ${known.join(", ")}.`);
    return { names: positionals, quick: values.quick, json: values.json, seed, rounds, folder: values.out };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return EXIT_BAD_OPTION;
  }
}
