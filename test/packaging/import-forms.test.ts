import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Archive, ConsumerProject, declared, pack } from "./consumer-project.ts";

interface Names {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

const listed = JSON.parse(readFileSync(new URL("../architecture/exports.json", import.meta.url), "utf8")) as Record<
  string,
  Names
>;

/** A package, the folders of ours that it stands on, and the entry points that users import. */
const PACKAGES = [
  { folder: "spillway", ours: [], entries: ["spillway", "spillway/kit", "spillway/testing"] },
  { folder: "http", ours: [], entries: ["@spillway/http"] },
  { folder: "admission", ours: ["spillway"], entries: ["@spillway/admission"] },
  { folder: "fastify", ours: ["spillway", "http", "admission"], entries: ["@spillway/fastify"] },
  { folder: "client", ours: ["spillway", "http"], entries: ["@spillway/client"] },
] as const;

const MODULES = [
  { form: "nodenext in a CommonJS project", type: "commonjs", settings: { module: "nodenext" } },
  { form: "nodenext in an ESM project", type: "module", settings: { module: "nodenext" } },
  { form: "moduleResolution bundler", type: "module", settings: { module: "preserve", moduleResolution: "bundler" } },
] as const;

const REQUIRED = ["package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"];
const UNINTENDED = /\.test\.|fixtures/;
const INTENDED = [/^package\.json$/, /^README\.md$/, /^LICENSE$/, /^dist\/[\w./-]+\.(?:js|d\.ts)$/];

const NARROWING = `
import { createRateLimiter, type Decision } from "spillway";
const limiter = createRateLimiter({ policies: { name: "api", limit: 5, period: "1s" } });
const decision: Decision = await limiter.consume("caller", { cost: 2 });
const waitMs: number = decision.allowed ? 0 : decision.retryAfterMs;
// @ts-expect-error an admitted request has no time to wait
if (decision.allowed) console.log(decision.retryAfterMs);
console.log(waitMs);
`;

let archiveFolder: string;
const archives = new Map<string, Archive>();
beforeAll(() => {
  archiveFolder = mkdtempSync(join(tmpdir(), "spillway-archives-"));
  for (const { folder } of PACKAGES) archives.set(folder, pack(folder, archiveFolder));
}, 60_000);
afterAll(() => rmSync(archiveFolder, { recursive: true, force: true }));

describe.each(PACKAGES)("C22: $folder, packed and installed in an empty project", ({ folder, ours, entries }) => {
  const offered = entries.filter((entry) => listed[entry] !== undefined);
  let project: ConsumerProject;
  beforeAll(() => {
    project = new ConsumerProject(folder);
    const folders = [folder, ...ours];
    const needed = folders.flatMap((name) => [
      ...declared(name, "dependencies"),
      ...declared(name, "peerDependencies"),
    ]);
    const foreign = [...needed, "@types/node"].filter((name) => name !== "spillway" && !name.startsWith("@spillway/"));
    project.install(
      folders.map((name) => archives.get(name) as Archive),
      Object.fromEntries(foreign.map((name) => [name, folder])),
    );
  }, 90_000);
  afterAll(() => project.remove());

  const namesOf = (entry: string): readonly string[] => [...(listed[entry] as Names).values].sort();
  const SHOW = "(all) => console.log(JSON.stringify(Object.keys(all).sort()))";

  it("has the intended files in its archive, each built from a source that is there, and no other", () => {
    const { files } = archives.get(folder) as Archive;
    expect(REQUIRED.filter((file) => !files.includes(file))).toEqual([]);
    expect(files.filter((file) => !INTENDED.some((form) => form.test(file)) || UNINTENDED.test(file))).toEqual([]);
    expect(files.filter((file) => file.startsWith("dist/") && !isBuilt(folder, file))).toEqual([]);
  });

  it.each(offered)("%s: a namespace import in .mjs has the listed names", (entry) => {
    const outcome = project.node("form.mjs", `import * as all from "${entry}";\n(${SHOW})(all);\n`);
    expect(outcome).toEqual({ exitCode: 0, stdout: `${JSON.stringify(namesOf(entry))}\n`, stderr: "" });
  });

  it.each(offered)("%s: a named import in .mjs gives each name", (entry) => {
    const names = namesOf(entry).map((name) => (name === "default" ? "default as byDefault" : name));
    const locals = names.map((name) => name.replace("default as ", ""));
    const script = `import { ${names.join(", ")} } from "${entry}";\nconsole.log([${locals}].includes(undefined));\n`;
    expect(project.node("named.mjs", script)).toEqual({ exitCode: 0, stdout: "false\n", stderr: "" });
  });

  it.each(offered)("%s: require in .cjs has the same names, and no other default within a default", (entry) => {
    const script = `const all = require("${entry}");\n(${SHOW})(all);\nconst { default: whole } = all;\nconsole.log(whole?.default === undefined || whole.default === whole);\n`;
    const { exitCode, stdout, stderr } = project.node("form.cjs", script);
    const [names = "[]", flat] = stdout.split("\n");
    expect({ exitCode, stderr, flat }).toEqual({ exitCode: 0, stderr: "", flat: "true" });
    expect((JSON.parse(names) as string[]).filter((name) => name !== "__esModule")).toEqual(namesOf(entry));
  });

  it.each(offered)("%s: a dynamic import in .cjs has the same names", (entry) => {
    const outcome = project.node("dynamic.cjs", `import("${entry}").then(${SHOW});\n`);
    expect(outcome).toEqual({ exitCode: 0, stdout: `${JSON.stringify(namesOf(entry))}\n`, stderr: "" });
  });

  it.each(MODULES)(
    "type-checks under $form, strict, with library types checked too",
    ({ form, type, settings }) => {
      const source = offered.map((entry, index) => importAll(entry, index)).join("\n");
      const outcome = project.typeCheck(form.replaceAll(" ", "-"), type, settings, source);
      expect(outcome).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    },
    60_000,
  );

  if (folder === "spillway") {
    it.runIf(folder === "spillway")(
      "narrows a decision by `allowed`",
      () => {
        const outcome = project.typeCheck("narrowing", "module", { module: "nodenext" }, NARROWING);
        expect(outcome).toEqual({ exitCode: 0, stdout: "", stderr: "" });
      },
      60_000,
    );
  }

  it("is refused by the type checker for a name that it does not have", () => {
    const source = `import { surelyNotThere } from "${offered[0]}";\nconsole.log(surelyNotThere);\n`;
    const outcome = project.typeCheck("absent-name", "module", { module: "nodenext" }, source);
    expect(outcome.exitCode).not.toBe(0);
    expect(outcome.stdout).toContain("surelyNotThere");
  }, 60_000);
});

/** Whether a built file still has its source; files of an earlier build would be published too. */
function isBuilt(folder: string, file: string): boolean {
  const source = file.replace(/^dist\//, "src/").replace(/(?:\.d\.ts|\.js)$/, ".ts");
  return existsSync(new URL(`../../packages/${folder}/${source}`, import.meta.url));
}

/** TypeScript that imports every listed name of an entry point and uses the values. */
function importAll(entry: string, index: number): string {
  const { values, types } = listed[entry] as Names;
  const named = values.map((name) => `${name} as value${index}_${name}`);
  return [
    `import { ${named.join(", ")} } from "${entry}";`,
    `import type { ${types.map((name) => `${name} as Type${index}_${name}`).join(", ")} } from "${entry}";`,
    `console.log(${values.map((name) => `value${index}_${name}`).join(", ")});`,
  ].join("\n");
}
