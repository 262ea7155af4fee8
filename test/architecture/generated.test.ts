import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT, textOf } from "./source-files.ts";

const GENERATED = "packages/spillway/src/stores/redis/scripts/generated.ts";

it("the committed scripts module is what lua/ builds to", () => {
  const args = ["scripts/build-lua.mjs", "--check"];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", timeout: 20_000 });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

it("the committed scripts module says that it is not to be edited", () => {
  expect(textOf(GENERATED).split("\n")[0]).toContain("Do not edit");
});
