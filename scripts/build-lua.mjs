#!/usr/bin/env node
/**
 * Writes the scripts of `lua/` into one TypeScript module, so that the package reads no file at run time.
 *
 *   node scripts/build-lua.mjs            writes the module
 *   node scripts/build-lua.mjs --check    fails when the committed module differs from what would be written
 *
 * `--lua <folder>` and `--out <file>` serve the tests.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { flattenedText, readLibrary } from "./lua-source.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");

const PREAMBLE = `// Written by scripts/build-lua.mjs. Do not edit: change lua/ and run \`npm run build:lua\`.

/** A Lua script as Redis gets it, its SHA-1, and the sizes that its header promises. */
export interface GeneratedScript<Arity extends Readonly<Record<string, number | string>>> {
  readonly name: string;
  readonly text: string;
  readonly sha1: string;
  readonly arity: Arity;
}
`;

/** @param {import("./lua-source.mjs").Script[]} scripts */
function moduleText(scripts) {
  return [PREAMBLE, ...scripts.map(scriptText)].join("\n");
}

function scriptText(script) {
  const text = flattenedText(script);
  const sha1 = createHash("sha1").update(text).digest("hex");
  const arity = Object.entries(script.header.arity);
  const type = arity.map(([name, value]) => `readonly ${name}: ${JSON.stringify(value)}`).join("; ");
  const value = arity.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ");
  return `/** ${script.file}: ${script.header.purpose.replaceAll("*/", "* /")} */
export const ${identifier(script.name)}: GeneratedScript<{ ${type} }> = {
  name: ${JSON.stringify(script.name)},
  sha1: "${sha1}",
  arity: { ${value} },
  text: \`${text.replace(/[\\`]|\$\{/g, "\\$&")}\`,
};
`;
}

function identifier(name) {
  return name.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

function main() {
  const { values } = parseArgs({
    options: {
      check: { type: "boolean", default: false },
      lua: { type: "string", default: join(ROOT, "lua") },
      out: { type: "string", default: join(ROOT, "packages/spillway/src/stores/redis/scripts/generated.ts") },
    },
  });
  const out = resolve(values.out);
  const { scripts, faults } = readLibrary(resolve(values.lua), relative(ROOT, resolve(values.lua)) || ".");
  if (scripts.length === 0 && faults.length === 0) faults.push(`${values.lua}: no scripts here`);
  if (faults.length > 0) return fail(faults);
  const text = moduleText(scripts);
  if (values.check) {
    const committed = existsSync(out) ? readFileSync(out, "utf8") : undefined;
    if (committed === text) return;
    return fail([`${relative(ROOT, out)} differs from lua/: run \`npm run build:lua\` and commit the result`]);
  }
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, text);
  console.log(`${relative(ROOT, out)}: ${scripts.map((script) => script.name).join(", ")}`);
}

function fail(lines) {
  for (const line of lines) console.error(line);
  process.exitCode = 1;
}

main();
