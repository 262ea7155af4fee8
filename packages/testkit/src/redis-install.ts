import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { findOnPath } from "./find-on-path.ts";
import { findRedisServer } from "./redis-binary.ts";

/** Where words for the user go; stderr by default. */
export interface InstallOptions {
  readonly say?: (line: string) => void;
}

/** Whether redis-server is there now, and why not. */
export type InstallOutcome = { readonly installed: true } | { readonly installed: false; readonly reason: string };

// Debian asks this script before it starts or stops a service while a package is being installed; 101 means "do not".
const POLICY_FILE = "/usr/sbin/policy-rc.d";
const POLICY = "#!/bin/sh\nexit 101\n";
const FORBIDDEN = 101;
const APT_WITHIN_MS = 300_000;
const INSTALL = ["install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", "redis-server"];

/**
 * Installs Debian's or Ubuntu's redis-server with apt-get, as root, and says so. No service is started: a policy file
 * forbids it during the installation and is removed afterwards.
 */
export async function installRedisServer(options: InstallOptions = {}): Promise<InstallOutcome> {
  const say = options.say ?? ((line: string) => void process.stderr.write(`${line}\n`));
  if (!existsSync("/etc/debian_version")) return { installed: false, reason: "this is neither Debian nor Ubuntu." };
  if (process.getuid?.() !== 0) return { installed: false, reason: "only root may install it." };
  const apt = findOnPath("apt-get");
  if (apt === undefined) return { installed: false, reason: "there is no apt-get." };
  const policyIsOurs = !existsSync(POLICY_FILE);
  if (!policyIsOurs && spawnSync(POLICY_FILE, ["redis-server", "start"], { stdio: "ignore" }).status !== FORBIDDEN) {
    return {
      installed: false,
      reason: `${POLICY_FILE} would let apt-get start the service, and it is not ours to change.`,
    };
  }
  say("There is no redis-server here: installing Debian's with apt-get, without starting a service.");
  const removePolicy = (): void => rmSync(POLICY_FILE, { force: true });
  if (policyIsOurs) {
    process.once("exit", removePolicy);
    writeFileSync(POLICY_FILE, POLICY);
    chmodSync(POLICY_FILE, 0o755);
  }
  try {
    // A machine whose package lists are fresh needs no update, and a new one has none at all.
    if ((await run(apt, INSTALL)) !== 0) {
      say("Reading the package lists first (apt-get update).");
      await run(apt, ["update"]);
      const code = await run(apt, INSTALL);
      if (code !== 0) return { installed: false, reason: `apt-get install redis-server ended with ${code}.` };
    }
  } finally {
    if (policyIsOurs) {
      removePolicy();
      process.off("exit", removePolicy);
    }
  }
  const found = findRedisServer();
  if (found === undefined) return { installed: false, reason: "apt-get installed it, yet it does not run." };
  say(`Installed redis-server ${found.version}.`);
  return { installed: true };
}

/** Runs apt-get with its output on stderr; gives back its exit code, or the signal or error that ended it. */
function run(file: string, args: readonly string[]): Promise<number | string> {
  return new Promise((resolve) => {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const child = spawn(file, args, { stdio: ["ignore", 2, 2], env, timeout: APT_WITHIN_MS });
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(code ?? signal ?? "no exit code"));
  });
}
