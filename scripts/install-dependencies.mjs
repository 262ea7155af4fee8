import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runNode, runProgram } from "./run-node.mjs";
import { say } from "./say.mjs";

const LOCKFILE = "package-lock.json";
// npm empties node_modules before it installs, so the stamp never outlives what it vouches for.
const STAMP = join("node_modules", ".spillway-installed");
const INSTALLED = join("node_modules", ".package-lock.json");

/** Runs `npm ci` unless node_modules holds what the lockfile asks for. Gives back npm's exit code, or 0. */
export async function installDependencies(root = ROOT) {
  const lockfile = readFileSync(join(root, LOCKFILE), "utf8");
  const stamp = createHash("sha256").update(`${process.platform} ${process.arch}\n${lockfile}`).digest("hex");
  if (readOrEmpty(join(root, STAMP)) === stamp) return 0;
  const missing = firstDifference(lockfile, readOrEmpty(join(root, INSTALLED)));
  if (missing !== undefined) {
    say(`Installing the dependencies with npm ci (${missing}). This takes a minute or so.`);
    const startedAt = performance.now();
    const code = await runNpm(["ci", "--include=dev", "--no-audit", "--no-fund"], root);
    if (code !== 0) {
      say(`npm ci ended with ${code}. It needs a network or a filled npm cache; see its messages above.`);
      return code;
    }
    say(`Installed in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
  }
  writeFileSync(join(root, STAMP), stamp);
  return 0;
}

/**
 * How an installed tree differs from a lockfile, in words, or undefined when it does not: so that a tree which `npm ci`
 * made by itself counts too. Optional packages may be missing, since most are for other platforms.
 */
export function firstDifference(lockfileText, installedText) {
  if (installedText === "") return "nothing is installed";
  const wanted = JSON.parse(lockfileText).packages;
  const installed = JSON.parse(installedText).packages;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === "") continue;
    const found = installed[path];
    if (found === undefined) {
      if (entry.optional) continue;
      return `${path} is missing`;
    }
    if (versionOf(found) !== versionOf(entry)) return `${path} is ${versionOf(found)}, not ${versionOf(entry)}`;
  }
  const extra = Object.keys(installed).find((path) => wanted[path] === undefined);
  return extra === undefined ? undefined : `${extra} is no longer wanted`;
}

/** A few packages publish their version as "v1.2.3", which the lockfile writes without the letter. */
function versionOf(entry) {
  return entry.link ? `a link to ${entry.resolved}` : String(entry.version).replace(/^v/, "");
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** npm itself when it runs this script, else the npm on PATH (a batch file on Windows, hence the shell). */
function runNpm(args, cwd) {
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("npm-cli.js")) return runNode([npm, ...args], { quiet: true, cwd });
  if (process.platform === "win32") return runProgram("cmd.exe", ["/c", "npm", ...args], { quiet: true, cwd });
  return runProgram("npm", args, { quiet: true, cwd });
}
