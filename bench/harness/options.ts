import { parseArgs } from "node:util";

/** What to run and how. */
export interface BenchOptions {
  /** Names of questions; empty for all. */
  readonly names: readonly string[];
  readonly quick: boolean;
  readonly json: boolean;
  readonly rounds: number;
  readonly roundMs: number;
}

/** An option that cannot be used; the message is for the user. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

const FULL = { rounds: 9, roundMs: 200 };
const QUICK = { rounds: 3, roundMs: 50 };
const MOST_ROUNDS = 1000;

/** @throws OptionError that names the option, what was expected and what came. */
export function parseOptions(args: readonly string[], known: readonly string[]): BenchOptions | "help" {
  const { values, positionals } = parsed(args);
  if (values.help) return "help";
  for (const name of positionals)
    if (!known.includes(name)) throw new OptionError(`There is no question "${name}". There are: ${known.join(", ")}.`);
  const { rounds, roundMs } = values.quick ? QUICK : FULL;
  return {
    names: positionals,
    quick: values.quick,
    json: values.json,
    rounds: values.rounds === undefined ? rounds : roundsOf(values.rounds),
    roundMs,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        rounds: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

function roundsOf(text: string): number {
  const rounds = Number(text);
  if (!/^\d+$/.test(text) || rounds < 1 || rounds > MOST_ROUNDS)
    throw new OptionError(`--rounds must be a whole number from 1 to ${MOST_ROUNDS}, got "${text}".`);
  return rounds;
}
