import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesUnder, type ImportSite, importsOf, namesIn, ROOT, tableIn, textOf } from "./source-files.ts";

const DOC = "docs/architecture.md";

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface Package {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly imports: readonly ImportSite[];
}

const packages: Package[] = filesUnder("packages", ["package.json"])
  .filter((path) => path.split("/").length === 3)
  .map((path) => {
    const folder = dirname(path);
    return {
      folder,
      manifest: JSON.parse(textOf(path)) as Manifest,
      imports: filesUnder(join(folder, "src"), [".ts"]).flatMap(importsOf),
    };
  });
const rows = tableIn(DOC, "packages");
const allowedOf = new Map(rows.map(([name = "", allowed = ""]) => [namesIn(name)[0], namesIn(allowed)]));
const ourNames = new Set(packages.map(({ manifest }) => manifest.name));
const tools = Object.keys((JSON.parse(textOf("package.json")) as Manifest).devDependencies ?? {});

const isRelative = ({ specifier }: ImportSite): boolean => specifier.startsWith(".");
const isBuiltin = ({ specifier }: ImportSite): boolean =>
  specifier.startsWith("node:") || builtinModules.includes(specifier);
const isTest = ({ file }: ImportSite): boolean => /(?:\.test|\/test-support)\.ts$/.test(file);
const packageOf = (specifier: string): string => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
const describeSite = ({ file, line, specifier }: ImportSite): string => `${file}:${line} imports ${specifier}`;

describe("who may import whom, as docs/architecture.md says", () => {
  it("finds imports at all", () => {
    expect(packages.flatMap(({ imports }) => imports).length).toBeGreaterThan(20);
    expect(packages.flatMap(({ imports }) => imports).some(({ typeOnly }) => typeOnly)).toBe(true);
  });

  it("has a row for each package", () => {
    expect([...allowedOf.keys()].sort()).toEqual([...ourNames].sort());
  });

  it.each(packages.map((entry) => [entry.manifest.name, entry] as const))("%s", (name, { folder, imports }) => {
    const allowed = allowedOf.get(name) ?? [];
    const ours = imports.filter(({ specifier }) => ourNames.has(packageOf(specifier)));
    const wrong = [
      ...ours.filter(({ specifier }) => packageOf(specifier) !== name && !allowed.includes(packageOf(specifier))),
      ...imports.filter(isRelative).filter((site) => !resolved(site).startsWith(`${folder}/src/`)),
    ];
    expect(wrong.map(describeSite)).toEqual([]);
  });
});

describe("what is imported from npm is declared", () => {
  it.each(packages.map((entry) => [entry.manifest.name, entry] as const))("%s", (name, { manifest, imports }) => {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    const wrong = imports
      .filter((site) => !isRelative(site) && !isBuiltin(site) && packageOf(site.specifier) !== name)
      .filter((site) => {
        const imported = packageOf(site.specifier);
        if (isTest(site) && tools.includes(imported)) return false;
        const optional = manifest.peerDependenciesMeta?.[imported]?.optional === true;
        return !declared.includes(imported) || (optional && !site.typeOnly);
      });
    expect(wrong.map(describeSite)).toEqual([]);
  });
});

describe("floors inside spillway, as docs/architecture.md says", () => {
  const source = "packages/spillway/src/";
  const floors = tableIn(DOC, "floors").flatMap(([floor = "", , paths = ""]) =>
    namesIn(paths).map((path) => ({ floor: Number(floor), path: `${source}${path}` })),
  );
  const floorOf = (file: string): number | undefined =>
    floors.find(({ path }) =>
      path.endsWith("/") ? file.startsWith(path) : file.replace(/\.test\.ts$/, ".ts") === path,
    )?.floor;
  const files = filesUnder(source, [".ts"]);

  it("gives each file a floor", () => {
    expect(files.filter((file) => floorOf(file) === undefined)).toEqual([]);
  });

  it("names no file that is not there", () => {
    const gone = floors.filter(({ path }) => !path.endsWith("/") && !files.includes(path));
    expect(gone.map(({ path }) => path)).toEqual([]);
  });

  it("looks down only", () => {
    const upward = files
      .flatMap(importsOf)
      .filter(isRelative)
      .filter((site) => (floorOf(resolved(site)) ?? 0) > (floorOf(site.file) ?? 0))
      .filter((site) => !(isTest(site) && resolved(site).startsWith(`${source}testing/`)));
    expect(upward.map(describeSite)).toEqual([]);
  });

  it("keeps algorithms to themselves", () => {
    const outward = filesUnder(`${source}algorithms`, [".ts"])
      .filter((file) => !file.endsWith(".test.ts"))
      .flatMap(importsOf)
      .filter((site) => !resolved(site).startsWith(`${source}algorithms/`));
    expect(outward.map(describeSite)).toEqual([]);
  });
});

/** The file that a relative import means, as a path from the root. */
function resolved({ file, specifier }: ImportSite): string {
  return join(ROOT, dirname(file), specifier).slice(ROOT.length).replaceAll("\\", "/").replace(/^\//, "");
}
