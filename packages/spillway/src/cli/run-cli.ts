import { parseArgs } from "node:util";
import { isSpillwayError } from "../errors.ts";
import { doctor } from "./doctor.ts";
import { inspect } from "./inspect.ts";
import { type OpenServer, openServer, withoutPassword } from "./open-server.ts";
import { readPolicies } from "./read-policies.ts";
import { resetKey } from "./reset-key.ts";

/** Where the command line writes, and what it reads of its surroundings. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a command found, for people and for programs. */
export interface Report {
  readonly lines: readonly string[];
  readonly json: unknown;
  /** Whether something is wrong that somebody should mend. */
  readonly isBad: boolean;
}

/** What every command is given. */
export interface CommandOptions {
  readonly prefix: string;
  readonly policies: string | undefined;
}

const EXIT_BAD = 1;
const EXIT_USAGE = 2;
/** As a limiter has it that is told nothing. */
const DEFAULT_DEADLINE = "50";

const USAGE = `npx spillway <command> [options]

  inspect KEY   how the buckets of a key stand: level, tokens on lease, waits, block
  reset KEY     makes a key as if unused, and ends its block
  doctor        looks at the server: version, rights, eviction, persistence, clock, scripts, slots, round trip

  --url URL         redis:// or rediss://; defaults to REDIS_URL, then redis://127.0.0.1:6379
  --cluster         the URL is a node of a Redis Cluster
  --prefix TEXT     as given to redisStore; defaults to spillway
  --policies FILE   a module or JSON file whose default export, or export "policies", is what the limiter is given;
                    with it, levels are brought to now and waits are told
  --deadline MS     the limiter's deadlineMs, which doctor compares the round trip with; defaults to 50
  --json            one JSON document instead of a table

Exits with 0, with 1 when doctor finds a fault or a command fails, and with 2 for a bad call.`;

class UsageError extends Error {}

/** Runs one command of `npx spillway` and returns its exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const call = readCall(args, terminal.env);
    if (call === undefined) {
      terminal.out(USAGE);
      return 0;
    }
    const server = await openServer(call.url, call.isCluster);
    try {
      const report = await call.run(server);
      terminal.out(call.json ? JSON.stringify(report.json) : report.lines.join("\n"));
      return report.isBad ? EXIT_BAD : 0;
    } finally {
      await server.close();
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    terminal.err(message);
    if (error instanceof UsageError) terminal.err(`\n${USAGE}`);
    return error instanceof UsageError ? EXIT_USAGE : EXIT_BAD;
  }
}

interface Call {
  readonly url: string;
  readonly isCluster: boolean;
  readonly json: boolean;
  run(server: OpenServer): Promise<Report>;
}

/** @returns `undefined` when only the usage is asked for. */
function readCall(args: readonly string[], env: Terminal["env"]): Call | undefined {
  const { values, positionals } = parsed(args);
  const [command, key, ...rest] = positionals;
  if (values.help || (command === undefined && args.length === 0)) return undefined;
  const url = values.url ?? (env.REDIS_URL || "redis://127.0.0.1:6379");
  const source = values.url === undefined ? "REDIS_URL" : "--url";
  if (!/^rediss?:\/\//.test(url))
    throw new UsageError(`${source} must begin with redis:// or rediss://, got ${withoutPassword(url)}.`);
  if (!URL.canParse(url)) throw new UsageError(`${source} is no URL that can be used: ${withoutPassword(url)}.`);
  const deadlineMs = deadlineOf(values.deadline ?? DEFAULT_DEADLINE);
  if (!/^[^{}]{1,100}$/.test(values.prefix))
    throw new UsageError(`--prefix must be 1 to 100 characters without braces, got ${values.prefix}.`);
  const options: CommandOptions = { prefix: values.prefix, policies: values.policies };
  const common = { url, isCluster: values.cluster, json: values.json };
  if (rest.length > 0) throw new UsageError(`Too many words: ${rest.join(" ")}. Put a key with blanks in quotes.`);
  if (command === "doctor") {
    if (key !== undefined) throw new UsageError(`doctor takes no key, got ${key}.`);
    if (values.policies !== undefined) throw new UsageError("--policies is for inspect and reset: doctor needs none.");
    return { ...common, run: (server) => doctor(server, options, deadlineMs) };
  }
  if (command !== "inspect" && command !== "reset")
    throw new UsageError(`There is no command ${command}; there are inspect, reset and doctor.`);
  if (key === undefined || key === "") throw new UsageError(`${command} needs a key.`);
  if (values.deadline !== undefined) throw new UsageError("--deadline is for doctor.");
  const run = command === "inspect" ? inspect : resetKey;
  return { ...common, run: async (server) => run(server, options, key, await readPolicies(options.policies, key)) };
}

function deadlineOf(text: string): number {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (ms >= 1 && ms <= 60_000) return ms;
  throw new UsageError(`--deadline must be a number of ms from 1 to 60000, got ${text}.`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        cluster: { type: "boolean", default: false },
        deadline: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
        json: { type: "boolean", default: false },
        policies: { type: "string" },
        prefix: { type: "string", default: "spillway" },
        url: { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError(isSpillwayError(error) || error instanceof Error ? error.message : String(error));
  }
}
