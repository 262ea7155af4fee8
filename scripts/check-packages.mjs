#!/usr/bin/env node
/**
 * Checks each public package as npm would publish it: only the intended files in the archive, then publint and
 * arethetypeswrong. Needs a fresh build (`npx tsc -b`).
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const BIN = join(ROOT, "node_modules/.bin");
const INTENDED = [/^package\.json$/, /^README\.md$/, /^LICENSE$/, /^CHANGELOG\.md$/, /^dist\/[\w./-]+\.(?:js|d\.ts)$/];
const REQUIRED = ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"];
const UNINTENDED = /\.test\.|(?:^|\/)fixtures\//;

function publicPackages() {
  return readdirSync(join(ROOT, "packages"))
    .map((name) => join(ROOT, "packages", name))
    .filter((folder) => existsSync(join(folder, "package.json")))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) }))
    .filter(({ manifest }) => manifest.private !== true);
}

function run(folder, command, ...args) {
  return spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 120_000,
    env: { ...process.env, FORCE_COLOR: "0" },
  });
}

function sourceOf(built) {
  return built.replace(/^dist\//, "src/").replace(/(?:\.d\.ts|\.js)$/, ".ts");
}

/** Files that npm would publish and should not, or should and would not. */
function archiveFaults(folder) {
  const packed = run(folder, "npm", "pack", "--dry-run", "--json", "--ignore-scripts");
  if (packed.status !== 0) return [`npm pack failed: ${packed.stderr}`];
  const [archive] = Object.values(JSON.parse(packed.stdout));
  const files = archive.files.map((file) => file.path);
  return [
    ...REQUIRED.filter((file) => !files.includes(file)).map((file) => `the archive lacks ${file}`),
    ...files
      .filter((file) => UNINTENDED.test(file) || !INTENDED.some((form) => form.test(file)))
      .map((file) => `the archive has ${file}, which nobody intended`),
    ...files
      .filter((file) => file.startsWith("dist/") && !existsSync(join(folder, sourceOf(file))))
      .map((file) => `the archive has ${file} of an earlier build: remove dist and build again`),
  ];
}

function toolFaults(folder, name, ...args) {
  const { status, stdout, stderr } = run(folder, join(BIN, name), ...args);
  return status === 0 ? [] : [`${name} ${args.join(" ")}:\n${stdout}${stderr}`.trimEnd()];
}

function check({ folder, manifest }) {
  const faults = [
    ...archiveFaults(folder),
    ...toolFaults(folder, "publint", "--strict", "--pack", "npm"),
    ...toolFaults(folder, "attw", "--pack", ".", "--profile", "esm-only", "--no-emoji", "--no-color"),
  ];
  for (const fault of faults) console.error(`${manifest.name}: ${fault}`);
  if (faults.length === 0) console.log(`${manifest.name}: archive, publint and arethetypeswrong are content`);
  return faults.length === 0;
}

const results = publicPackages().map(check);
if (results.includes(false)) process.exitCode = 1;
