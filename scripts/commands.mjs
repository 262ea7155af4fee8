// What each command of `run.mjs` needs first, and what it then runs.
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { installDependencies } from "./install-dependencies.mjs";
import { requireRedisServer } from "./require-redis-server.mjs";
import { ROOT, runNode } from "./run-node.mjs";
import { say } from "./say.mjs";
import { TEST_RESULT } from "./test-result.mjs";

/** Print what each fault cost, and what fleets of processes used, below vitest's own report. */
const CHAOS_TABLES = ["./test/chaos/table-reporter.ts", "./test/fleet/table-reporter.ts"];

/**
 * A command is a module that gets the remaining arguments, or a function. `redisServer` asks for the program
 * `redis-server` itself, for commands that stop, pause and configure servers; the others find a Redis by themselves.
 */
const COMMANDS = {
  build: { does: "compiles every package" },
  test: { does: "runs every test that this machine can run", redisServer: true, run: runTests },
  check: { does: "types, lint, Lua, generated files, dead code, package exports", module: "scripts/check.mjs" },
  demo: { does: "shows the leak of per-process limits and its fix", module: "packages/demo/dist/main.js" },
  bench: { does: "measures Spillway beside its peers", module: "bench/main.mjs" },
  simulate: { does: "runs the client code on a virtual clock", module: "bench/simulator/main.mjs" },
  lab: { does: "reproduces the measured tables", module: "bench/experiments/main.mjs" },
  chaos: { does: "tries every fault on real servers", redisServer: true, run: runChaos },
  flood: { does: "offers load to a service of yours", module: "bench/flood/main.mjs" },
};

/** Runs one command and gives back its exit code. */
export async function runCommand(name, args) {
  const command = Object.hasOwn(COMMANDS, name ?? "") ? COMMANDS[name] : undefined;
  if (command === undefined) {
    say(name === undefined ? "Which command?" : `There is no command "${name}".`);
    for (const [known, { does }] of Object.entries(COMMANDS)) say(`  ${known.padEnd(10)}${does}`);
    return 2;
  }
  for (const step of [installDependencies, build]) {
    const code = await step();
    if (code !== 0) return code;
  }
  if (command.redisServer && !(await requireRedisServer())) return 1;
  if (command.run) return await command.run(args);
  return command.module === undefined ? 0 : await runModule(name, command.module, args);
}

async function runModule(name, module, args) {
  if (existsSync(join(ROOT, module))) return await runNode([module, ...args]);
  say(`The command "${name}" is not built yet: ${module} does not exist.`);
  return 1;
}

async function runTests(args, env = {}) {
  mkdirSync(join(ROOT, TEST_RESULT, ".."), { recursive: true });
  rmSync(join(ROOT, TEST_RESULT), { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${TEST_RESULT}`];
  return await runNode(["node_modules/vitest/vitest.mjs", "run", ...reporters, ...args], { env });
}

/** Plays the faults whose names hold one of the arguments, or all. `--write` puts the table into docs/guarantees.md. */
async function runChaos(args) {
  const options = args.filter((arg) => arg.startsWith("-") && arg !== "--write");
  const names = args.filter((arg) => !arg.startsWith("-"));
  const env = { SPILLWAY_CHAOS: "1" };
  if (args.includes("--write")) {
    if (names.length > 0) {
      say("--write puts the whole table into docs/guarantees.md: leave out the names.");
      return 2;
    }
    env.SPILLWAY_CHAOS_WRITE = "1";
  }
  if (names.length > 0) {
    options.push(`--testNamePattern=${namePattern(names)}`);
    env.SPILLWAY_CHAOS_ROWS = names.join(", ");
  }
  const tables = CHAOS_TABLES.map((path) => `--reporter=${path}`);
  return await runTests(["--project=chaos", "--project=fleet", ...tables, ...options], env);
}

/** Matches what holds one of the texts before its first colon, in letters of either case. */
export function namePattern(texts) {
  const literally = (text) => text.replace(/[^\p{L}\p{N}]/gu, "\\$&").replace(/\p{L}/gu, eitherCase);
  return `^[^:]*(?:${texts.map(literally).join("|")})`;
}

function eitherCase(letter) {
  return `[${letter.toLowerCase()}${letter.toUpperCase()}]`;
}
