import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ["scripts/run.mjs", ...args], { cwd: ROOT, encoding: "utf8" });
}

/** The scripts are plain JavaScript, so that they run before anything is compiled. */
async function script(name: string): Promise<Record<string, (...args: unknown[]) => unknown>> {
  return await import(pathToFileURL(join(ROOT, "scripts", name)).href);
}

describe("the way in for commands", () => {
  it.each([[], ["nonsense"], ["toString"]])(
    "lists the commands on stderr when it gets %j, and does nothing",
    (...args) => {
      const { status, stdout, stderr } = run(...args);
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      for (const name of ["demo", "test", "check", "bench", "simulate", "lab", "chaos", "flood"]) {
        expect(stderr).toMatch(new RegExp(`^ {2}${name} `, "m"));
      }
    },
  );

  it("is what each npm script of that name runs", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const listed = [...run().stderr.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name as string);
    expect(listed).not.toEqual([]);
    for (const name of listed) expect(scripts[name]).toBe(`node scripts/run.mjs ${name}`);
  });

  it("needs only what Node and npm bring", () => {
    const modules = ["run", "commands", "say", "run-node", "build", "install-dependencies", "require-redis-server"];
    for (const name of modules) {
      const text = readFileSync(join(ROOT, "scripts", `${name}.mjs`), "utf8");
      const imported = [...text.matchAll(/^import .* from "([^"]+)";$/gm)].map(([, specifier]) => specifier);
      expect(imported.filter((specifier) => !/^(node:|\.\/)/.test(specifier ?? ""))).toEqual([]);
    }
  });
});

describe("the installed packages", () => {
  const lockfile = (packages: object): string => JSON.stringify({ packages: { "": {}, ...packages } });
  const wanted = lockfile({
    "node_modules/a": { version: "1.0.0" },
    "node_modules/b": { version: "2.0.0", optional: true },
    "node_modules/ours": { resolved: "packages/ours", link: true },
    "packages/ours": { version: "0.1.0" },
  });
  const ours = {
    "node_modules/ours": { resolved: "packages/ours", link: true },
    "packages/ours": { version: "0.1.0" },
  };

  it.each([
    [
      "are the wanted ones",
      { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "2.0.0" } },
      undefined,
    ],
    ["lack one for another platform", { "node_modules/a": { version: "1.0.0" } }, undefined],
    ["have a version written with a letter", { "node_modules/a": { version: "v1.0.0" } }, undefined],
    ["lack one", {}, "node_modules/a is missing"],
    ["hold another version", { "node_modules/a": { version: "1.0.1" } }, "node_modules/a is 1.0.1, not 1.0.0"],
    [
      "hold one too many",
      { "node_modules/a": { version: "1.0.0" }, "node_modules/c": { version: "1.0.0" } },
      "node_modules/c is no longer wanted",
    ],
  ])("%s", async (_name, installed, difference) => {
    const { firstDifference } = await script("install-dependencies.mjs");
    expect(firstDifference?.(wanted, lockfile({ ...installed, ...ours }))).toBe(difference);
  });

  it("are missing altogether after a clone", async () => {
    const { firstDifference } = await script("install-dependencies.mjs");
    expect(firstDifference?.(wanted, "")).toBe("nothing is installed");
  });
});

describe("the names given to npm run chaos", () => {
  it.each([
    [["SIGSTOP"], "Redis stopped (SIGSTOP) 5 s, exact: a stopped Redis costs three calls", true],
    [["(sigstop) 5 s, L"], "Redis stopped (SIGSTOP) 5 s, leases: a stopped Redis costs three calls", true],
    [["cut off", "killed"], "Redis killed 3 s, iovalkey: a killed Redis makes nobody wait", true],
    [["three calls"], "Redis stopped (SIGSTOP) 5 s, exact: a stopped Redis costs three calls", false],
    [["."], "CLIENT PAUSE 3 s: a server that is told", false],
    [["|"], "CLIENT PAUSE 3 s: a server that is told", false],
  ])("%j select %j: %s", async (names, title, selects) => {
    const { namePattern } = await script("commands.mjs");
    expect(new RegExp(namePattern?.(names) as string).test(title)).toBe(selects);
  });
});

describe("the summary of a test run", () => {
  it("counts tests, and a file that failed before its tests ran", async () => {
    const { countTests } = await script("test-result.mjs");
    const file = (status: string, ...statuses: string[]): object => ({
      status,
      assertionResults: statuses.map((each) => ({ status: each })),
    });
    const testResults = [
      file("passed", "passed", "passed", "pending", "todo", "skipped"),
      file("failed", "passed", "failed"),
      file("failed"),
      file("failed", "pending"),
    ];
    expect(countTests?.({ testResults })).toEqual({ passed: 3, failed: 3, skipped: 4 });
  });
});
