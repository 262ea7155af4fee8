#!/usr/bin/env node
// The way in for every command: `node scripts/run.mjs <command> [options]`. It needs Node and npm and nothing else, so
// that each command works as the first one after `git clone`. What it has to say goes to stderr; stdout is the
// command's own.
const OLDEST_NODE = [20, 19];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(`Spillway needs Node ${OLDEST_NODE.join(".")} or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

const { runCommand } = await import("./commands.mjs");
process.exitCode = await runCommand(process.argv[2], process.argv.slice(3));
