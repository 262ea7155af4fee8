import { QUESTIONS } from "../questions/index.ts";
import { type BenchDocument, type CaseResult, caseResult } from "./document.ts";
import { machine, versions } from "./environment.ts";
import { type HeatOptions, runHeat } from "./heat.ts";
import { type BenchOptions, OptionError, parseOptions } from "./options.ts";
import type { Question } from "./question.ts";
import { renderCase } from "./report.ts";
import { Workbench } from "./workbench.ts";

const EXIT_FAILED = 1;
const EXIT_BAD_OPTION = 2;

/** Runs the bench and returns its exit code. A missed mark is a finding, not a failure; a wrong answer of ours is one. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const options = parseOptions(
      args,
      QUESTIONS.map(({ name }) => name),
    );
    if (options === "help") {
      process.stdout.write(helpText());
      return 0;
    }
    return await run(options);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof OptionError ? EXIT_BAD_OPTION : EXIT_FAILED;
  }
}

async function run(options: BenchOptions): Promise<number> {
  const asked = QUESTIONS.filter(({ name }) => options.names.length === 0 || options.names.includes(name));
  const out = options.json ? process.stderr : process.stdout;
  const say = (text: string): void => void out.write(`${text}\n`);
  const bench = new Workbench(options.quick, say);
  const cases: CaseResult[] = [];
  try {
    for (const question of asked) {
      say(`\n== ${question.name}: ${question.asks}`);
      cases.push(...(await ask(question, bench, options, say)));
    }
    const version = await bench.redisVersion();
    const { quick } = options;
    const document: BenchDocument = { cases, quick, machine: machine(), versions: versions(version) };
    say(`\n${summary(cases)}`);
    if (options.json) process.stdout.write(`${JSON.stringify(document)}\n`);
  } finally {
    await bench.close();
  }
  return cases.some(({ ours }) => ours === null) ? EXIT_FAILED : 0;
}

async function ask(
  question: Question,
  bench: Workbench,
  options: HeatOptions,
  say: (text: string) => void,
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (const open of question.heats(bench)) {
    const heat = await open();
    try {
      const result = await runHeat(heat, { rounds: heat.rounds ?? options.rounds, roundMs: options.roundMs });
      for (const definition of heat.cases) {
        const read = caseResult(question.name, definition, result);
        say(`\n${renderCase(read)}`);
        results.push(read);
      }
    } finally {
      for (const contestant of heat.contestants) await contestant.close?.();
    }
  }
  return results;
}

function summary(cases: readonly CaseResult[]): string {
  const marks = cases.flatMap(({ marks }) => marks);
  const met = marks.filter((mark) => mark.met).length;
  const wrong = cases.filter(({ ours }) => ours === null).length;
  const suffix = wrong === 0 ? "" : `; Spillway was disqualified in ${wrong}`;
  return `${cases.length} cases, ${met} of ${marks.length} marks met${suffix}.`;
}

function helpText(): string {
  const questions = QUESTIONS.map(({ name, asks }) => `  ${name.padEnd(16)}${asks}`).join("\n");
  return `Measures Spillway beside its peers, in turns, in one process. bench/README.md tells how to read the figures.

npm run bench -- [question ...] [options]
  --quick     short rounds, and few of them: under half a minute in all
  --json      one JSON document as the last line of stdout; the tables go to stderr
  --rounds N  rounds that count, after one to warm up
  --help      this text

Questions:
${questions}
`;
}
