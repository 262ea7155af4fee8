import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FIXTURES = "test/lua/fixtures";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "spillway-build-lua-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Outcome {
  readonly exitCode: number | null;
  readonly errors: string[];
}

function build(fixture: string, out: string, ...more: string[]): Outcome {
  const args = ["scripts/build-lua.mjs", "--lua", join(FIXTURES, fixture), "--out", join(folder, out), ...more];
  const run = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", timeout: 20_000 });
  return { exitCode: run.status, errors: run.stderr.split("\n").filter((line) => line !== "") };
}

interface Written {
  readonly name: string;
  readonly text: string;
  readonly sha1: string;
  readonly arity: Readonly<Record<string, number | string>>;
}

/** The module's values, with the TypeScript taken off. */
async function load(out: string): Promise<Record<string, Written>> {
  const source = readFileSync(join(folder, out), "utf8");
  const script = join(folder, `${out}.mjs`);
  const plain = source.replace(/^export interface [\s\S]*?^}$/m, "").replace(/: GeneratedScript<.*> = \{$/gm, " = {");
  appendFileSync(script, plain);
  return (await import(pathToFileURL(script).href)) as Record<string, Written>;
}

describe("a library without faults", () => {
  let scripts: Record<string, Written>;
  beforeAll(async () => {
    expect(build("good", "good.ts")).toEqual({ exitCode: 0, errors: [] });
    scripts = await load("good.ts");
  });

  it("becomes one module with a value per script", () => {
    expect(Object.keys(scripts).sort()).toEqual(["countUp", "peek"]);
    expect(scripts.countUp?.name).toBe("count-up");
  });

  it("has each fragment once, where it is first named, and no line that only comments but the name", () => {
    expect(scripts.countUp?.text.split("\n")).toEqual([
      "-- spillway: count-up",
      "local function now()",
      '  return tonumber(redis.call("TIME")[1])',
      "end",
      "local function add(key, life_ms)",
      '  redis.call("SET", key, now(), "PX", life_ms)',
      "  return 1",
      "end",
      "local count = add(KEYS[1], ARGV[1])",
      "return { count, now() } -- `$" + "{quoted}` \\ kept",
      "",
    ]);
  });

  it("carries the SHA-1 of its text", () => {
    for (const { text, sha1 } of Object.values(scripts)) {
      expect(sha1).toBe(createHash("sha1").update(text).digest("hex"));
    }
  });

  it("carries the arity of its header, numbers as numbers", () => {
    expect(scripts.countUp?.arity).toEqual({ keys: 1, head: 1, run: "1.." });
  });

  it("is stamped, and explains each script in the words of its header", () => {
    const source = readFileSync(join(folder, "good.ts"), "utf8");
    expect(source).toMatch(/^\/\/ Written by scripts\/build-lua\.mjs\. Do not edit/);
    expect(source).toContain(
      "/** test/lua/fixtures/good/count-up.lua: Adds one to a counter and says how it stands. */",
    );
  });
});

describe("--check", () => {
  it("passes on a fresh module, fails on a changed one and on an absent one, and writes nothing", () => {
    build("good", "checked.ts");
    expect(build("good", "checked.ts", "--check").exitCode).toBe(0);
    appendFileSync(join(folder, "checked.ts"), "// by hand\n");
    const changed = readFileSync(join(folder, "checked.ts"), "utf8");
    const outcome = build("good", "checked.ts", "--check");
    expect(outcome.exitCode).toBe(1);
    expect(outcome.errors.join()).toContain("differs from lua/: run `npm run build:lua`");
    expect(readFileSync(join(folder, "checked.ts"), "utf8")).toBe(changed);
    expect(build("good", "absent.ts", "--check").exitCode).toBe(1);
  });
});

describe("a fault is named with file and line, and nothing is written", () => {
  const faults: [fixture: string, messages: string[]][] = [
    [
      "missing-include",
      ["missing-include/take.lua:5: there is no fragment test/lua/fixtures/missing-include/lib/absent.lua"],
    ],
    ["circular-include", ["circular-include/lib/two.lua:2: circular include: lib/one -> lib/two -> lib/one"]],
    ["duplicate-include", ["duplicate-include/take.lua:6: lib/one is included twice in this file"]],
    ["unused-fragment", ["unused-fragment/lib/one.lua:1: no script includes lib/one"]],
    [
      "bad-include-form",
      ['bad-include-form/take.lua:5: an include has the form "-- @include lib/name", got "../secrets"'],
    ],
    [
      "header-faults",
      [
        'header-faults/bad-arity.lua:4: @arity takes name=value pairs, got "keys:1"',
        "header-faults/bad-arity.lua:4: @arity gives head twice",
        "header-faults/no-header.lua:1: the header does not open with a sentence that says what the script does",
        'header-faults/no-header.lua:1: the header has no text under "Returns:"',
        'header-faults/no-header.lua:1: the header has no text under "Writes:"',
        "header-faults/no-purpose.lua:1: the header does not open with a sentence that says what the script does",
        'header-faults/no-returns.lua:1: the header has no text under "Returns:"',
        'header-faults/no-writes.lua:1: the header has no text under "Writes:"',
        'header-faults/undescribed-keys.lua:1: the header has no text under "KEYS:", which test/lua/fixtures/header-faults/undescribed-keys.lua:5 reads',
      ],
    ],
  ];

  it.each(faults)("%s", (fixture, messages) => {
    const outcome = build(fixture, `${fixture}.ts`);
    expect(outcome.errors).toEqual(messages.map((message) => `${FIXTURES}/${message}`));
    expect(outcome.exitCode).toBe(1);
    expect(() => readFileSync(join(folder, `${fixture}.ts`))).toThrow("ENOENT");
  });

  it("no-scripts", () => {
    expect(build("no-scripts", "never.ts").errors).toEqual([`${FIXTURES}/no-scripts: no scripts here`]);
  });
});
