import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TSC = join(ROOT, "node_modules/.bin/tsc");

/** A package as `npm pack` makes it. */
export interface Archive {
  readonly name: string;
  readonly path: string;
  readonly files: readonly string[];
}

/** What a process wrote, and how it ended. */
export interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Packs one of our packages, as built, into `destination`. */
export function pack(folder: string, destination: string): Archive {
  const source = join(ROOT, "packages", folder);
  if (!existsSync(join(source, "dist/index.js"))) throw new Error(`packages/${folder} is not built: run npx tsc -b`);
  const packed = run(source, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", destination]);
  if (packed.exitCode !== 0) throw new Error(`npm pack failed in packages/${folder}: ${packed.stderr}`);
  const [made] = Object.values(JSON.parse(packed.stdout)) as {
    name: string;
    filename: string;
    files: { path: string }[];
  }[];
  if (made === undefined) throw new Error(`npm pack said nothing in packages/${folder}`);
  return { name: made.name, path: join(destination, made.filename), files: made.files.map(({ path }) => path) };
}

/** A project outside the repository that has installed archives, without a network. */
export class ConsumerProject {
  readonly folder: string;

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `spillway-${name}-`));
  }

  /**
   * Installs archives with npm. What they need from npm is linked from this repository's own `node_modules`: `linked` maps a
   * package's name to the folder in `packages/` that depends on it.
   */
  install(archives: readonly Archive[], linked: Readonly<Record<string, string>>): void {
    const dependencies = Object.fromEntries([
      ...archives.map(({ name, path }) => [name, `file:${path}`]),
      ...Object.entries(linked).map(([name, from]) => [name, `file:${installedFolder(name, from)}`]),
    ]);
    this.write("package.json", JSON.stringify({ name: "consumer", private: true, dependencies }));
    const flags = [
      "--offline",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--no-package-lock",
      "--strict-peer-deps",
    ];
    const installed = this.run("npm", ["install", ...flags]);
    if (installed.exitCode !== 0) throw new Error(`npm install failed: ${installed.stderr}`);
  }

  write(path: string, text: string): void {
    const target = join(this.folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }

  run(command: string, args: readonly string[]): Outcome {
    return run(this.folder, command, args);
  }

  /** Runs a script file with this very Node. */
  node(path: string, script: string): Outcome {
    this.write(path, script);
    return this.run(process.execPath, [path]);
  }

  /** Type-checks one file, in a folder of its own, under the given module settings. */
  typeCheck(
    folder: string,
    type: "commonjs" | "module",
    module: Readonly<Record<string, string>>,
    source: string,
  ): Outcome {
    const compilerOptions = {
      ...module,
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    this.write(`${folder}/package.json`, JSON.stringify({ type }));
    this.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions, files: ["index.ts"] }));
    this.write(`${folder}/index.ts`, source);
    return this.run(TSC, ["-p", folder]);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function installedFolder(name: string, from: string): string {
  let folder = join(ROOT, "packages", from);
  while (!existsSync(join(folder, "node_modules", name, "package.json"))) {
    if (folder === dirname(folder)) throw new Error(`${name} is not installed for packages/${from}`);
    folder = dirname(folder);
  }
  return join(folder, "node_modules", name);
}

/** The dependencies that a package's manifest declares, of one kind. */
export function declared(folder: string, kind: "dependencies" | "peerDependencies"): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, "packages", folder, "package.json"), "utf8"));
  const optional = manifest.peerDependenciesMeta ?? {};
  return Object.keys(manifest[kind] ?? {}).filter((name) => optional[name]?.optional !== true);
}

function run(cwd: string, command: string, args: readonly string[]): Outcome {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    timeout: 90_000,
    env: { ...process.env, NODE_OPTIONS: "", NODE_PATH: "", FORCE_COLOR: "0", NO_COLOR: "1" },
  });
  if (error !== undefined) throw error;
  return { exitCode: status, stdout, stderr };
}
