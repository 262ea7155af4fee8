// Everything that can be known without running the code. All steps run, also after one has failed.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runNode } from "./run-node.mjs";
import { say } from "./say.mjs";

const TSC = "node_modules/typescript/bin/tsc";
const BIOME = "node_modules/@biomejs/biome/bin/biome";
const KNIP = "node_modules/knip/bin/knip.js";

/** Each package's tests have a project of their own, since what is published is compiled without them. */
function testProjects() {
  const packages = readdirSync(join(ROOT, "packages")).map((name) => `packages/${name}/tsconfig.test.json`);
  const others = ["packages/fastify/tsconfig.lowest.json", "test/tsconfig.json"];
  return [...packages, ...others].filter((path) => existsSync(join(ROOT, path)));
}

const STEPS = [
  ...testProjects().map((path) => [`types of ${path}`, [TSC, "-p", path]]),
  ["format and lint", [BIOME, "ci", `--colors=${process.stderr.isTTY ? "force" : "off"}`, "."]],
  ["generated Lua module is fresh", ["scripts/build-lua.mjs", "--check"]],
  ["Lua", ["scripts/check-lua.mjs"]],
  ["dead code and dependencies", [KNIP]],
  ["package exports", ["scripts/check-packages.mjs"]],
];

const results = [];
for (const [name, command] of STEPS) {
  say(`\n== ${name}`);
  const startedAt = performance.now();
  const code = await runNode(command, { quiet: true });
  const seconds = (performance.now() - startedAt) / 1000;
  results.push({ name, passed: code === 0, seconds });
  say(`${code === 0 ? "ok" : `FAILED with exit code ${code}`} in ${seconds.toFixed(1)} s`);
}

const failed = results.filter(({ passed }) => !passed);
say("");
for (const { name, passed, seconds } of results)
  say(`${passed ? "ok    " : "FAILED"} ${name} (${seconds.toFixed(1)} s)`);
say(`check: ${results.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length === 0 ? 0 : 1;
