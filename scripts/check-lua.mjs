#!/usr/bin/env node
/**
 * Checks the flattened Lua scripts: luacheck with the globals of `.luacheckrc`, and the rules of `lua/README.md` that
 * luacheck does not know (keys come from KEYS, no time becomes text). Messages name the line of the source, not of the
 * flattened text. `--lua <folder>` serves the tests.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { flattenedText, readLibrary } from "./lua-source.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const KEYLESS_COMMANDS = new Set(["TIME"]);
const CALL = /\bredis\s*\.\s*p?call\s*\(\s*(?:(["'])([^"']*)\1|([^,)]+))\s*(?:,\s*([^,)]*(?:\)|\])?))?/g;
const UNUSED_FUNCTION = /\(W211\) unused function /;
const KEY_ARGUMENT = /^(?:KEYS\s*\[|unpack\s*\(\s*KEYS\b|key\b)/;

/** Faults of the rules that are this project's own. */
export function houseFaults(script) {
  const faults = [];
  for (const { file, line, text } of script.lines) {
    const code = withoutComment(text);
    const at = `${file}:${line}`;
    for (const [, , command, computed, argument = ""] of code.matchAll(CALL)) {
      if (computed !== undefined)
        faults.push(`${at}: the command of redis.call must be written out, got ${computed.trim()}`);
      else if (!KEYLESS_COMMANDS.has(command.toUpperCase()) && !KEY_ARGUMENT.test(argument.trim()))
        faults.push(`${at}: ${command} must take its key from KEYS[...], unpack(KEYS) or a parameter "key"`);
    }
    if (/\bkey\s*=(?!=)\s*(?!KEYS\s*\[)/.test(code)) faults.push(`${at}: only KEYS[...] may become a "key"`);
    const bare = code.replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""');
    if (/\btostring\b/.test(bare))
      faults.push(`${at}: tostring cuts a time to 14 digits; pass numbers, or use string.format("%.0f")`);
    if (/\.\./.test(bare.replace(/\.\.\./g, "")) && !/\b(?:error|error_reply)\s*\(/.test(bare))
      faults.push(`${at}: ".." cuts a time to 14 digits; it is allowed in error texts only`);
  }
  return faults;
}

function withoutComment(text) {
  const found = /^(?:[^"'-]|-(?!-)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')*/.exec(text);
  return found === null ? text : found[0];
}

/** What luacheck says of a script, with the lines of its sources. */
function luacheckFaults(script) {
  const args = ["--formatter", "plain", "--codes", "--no-cache", "--config", join(ROOT, ".luacheckrc"), "-"];
  const run = spawnSync("luacheck", args, { input: flattenedText(script), encoding: "utf8", timeout: 60_000 });
  if (run.error) throw run.error;
  const faults = [];
  for (const output of run.stdout.split("\n")) {
    const found = /^[^:]*:(\d+):(\d+): (.*)$/.exec(output);
    if (found === null) continue;
    const source = script.lines[Number(found[1]) - 2] ?? { file: script.file, line: 1 };
    faults.push({ ...source, message: `${source.file}:${source.line}:${found[2]}: ${found[3]}` });
  }
  if (run.status !== 0 && faults.length === 0)
    faults.push({
      file: script.file,
      line: 1,
      message: `luacheck failed on ${script.file}: ${run.stdout}${run.stderr}`,
    });
  return faults;
}

/** Messages of luacheck on all scripts. A function of a fragment counts as unused when no script that includes it calls it. */
function luacheckMessages(scripts) {
  const seen = new Map();
  for (const script of scripts) {
    for (const fault of luacheckFaults(script)) {
      const { file, names } = seen.get(fault.message) ?? { file: fault.file, names: [] };
      seen.set(fault.message, { file, names: [...names, script.name] });
    }
  }
  return [...seen]
    .filter(([message, { file, names }]) => {
      if (!UNUSED_FUNCTION.test(message) || scripts.some((script) => script.file === file)) return true;
      return scripts.every(({ name, lines }) => names.includes(name) || !lines.some((line) => line.file === file));
    })
    .map(([message, { names }]) => `${message} [in ${names.join(", ")}]`);
}

function luacheckWorks() {
  return spawnSync("luacheck", ["--version"], { timeout: 30_000 }).status === 0;
}

/** As root on Debian or Ubuntu: installs it, and says so. */
function installLuacheck() {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return;
  console.log("luacheck is not installed; installing the Debian package lua-check with apt-get ...");
  const options = {
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 300_000,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  };
  const install = () =>
    spawnSync("apt-get", ["install", "-y", "-q", "--no-install-recommends", "lua-check"], options).status === 0;
  if (!install()) {
    spawnSync("apt-get", ["update", "-q"], options);
    install();
  }
}

function main() {
  const { values } = parseArgs({ options: { lua: { type: "string", default: join(ROOT, "lua") } } });
  const folder = resolve(values.lua);
  const { scripts, faults } = readLibrary(folder, relative(ROOT, folder));
  const found = new Set(faults);
  for (const script of scripts) for (const fault of houseFaults(script)) found.add(fault);
  if (!luacheckWorks()) installLuacheck();
  if (luacheckWorks()) {
    for (const message of luacheckMessages(scripts)) found.add(message);
  } else {
    console.error(
      "luacheck is not installed, so the Lua scripts were not linted. Debian and Ubuntu: apt-get install lua-check",
    );
    if (process.env.CI) process.exitCode = 1;
  }
  for (const fault of found) console.error(fault);
  if (found.size > 0) process.exitCode = 1;
  else if (process.exitCode === undefined)
    console.log(`${scripts.length} Lua script${scripts.length === 1 ? "" : "s"} checked`);
}

main();
