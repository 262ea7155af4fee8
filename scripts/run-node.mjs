import { spawn } from "node:child_process";
import { constants } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP"];
const STDERR = 2;

/**
 * Runs a Node program in the repository's root and gives back its exit code, 128 + signal when a signal ended it.
 * With `quiet`, its stdout goes to our stderr and it has no stdin.
 */
export function runNode(args, { env = {}, quiet = false, cwd = ROOT } = {}) {
  return runProgram(process.execPath, args, { env, quiet, cwd });
}

/** The same for any program. */
export function runProgram(file, args, { env = {}, quiet = false, cwd = ROOT } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = quiet ? ["ignore", STDERR, STDERR] : "inherit";
    const child = spawn(file, args, { cwd, stdio, env: { ...process.env, ...env } });
    // The terminal sends Ctrl-C to the child as well; whoever signals this process alone means the child.
    const passOn = (signal) => child.kill(signal);
    for (const signal of PASSED_ON) process.on(signal, passOn);
    const settle = (action) => {
      for (const signal of PASSED_ON) process.off(signal, passOn);
      action();
    };
    child.once("error", (error) => settle(() => reject(error)));
    child.once("exit", (code, signal) => settle(() => resolve(code ?? 128 + (constants.signals[signal] ?? 0))));
  });
}
