import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readmeExample } from "./readme.ts";
import { ROOT } from "./source-files.ts";

it("the README's example type-checks as it stands", () => {
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  // Inside the repository, so that package names lead to the packages of the workspace, as they are built.
  const folder = mkdtempSync(join(ROOT, ".cache/readme-"));
  try {
    writeFileSync(join(folder, "example.ts"), readmeExample());
    const compilerOptions = { noEmit: true, composite: false };
    const config = { extends: "../../tsconfig.base.json", compilerOptions, files: ["example.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const { status, stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", folder], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
