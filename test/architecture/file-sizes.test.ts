import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { filesUnder, ROOT, textOf } from "./source-files.ts";

const MOST_LINES = 400;
const FOLDERS = ["packages", "lua", "scripts", "test", "bench"].filter((folder) => existsSync(join(ROOT, folder)));
const files = FOLDERS.flatMap((folder) => filesUnder(folder, [".ts", ".mjs", ".lua"])).filter(
  (file) => !file.endsWith("/scripts/generated.ts"),
);

it("finds the sources", () => {
  expect(files).toContain("packages/spillway/src/index.ts");
  expect(files).toContain("scripts/build-lua.mjs");
});

it(`no source file is longer than ${MOST_LINES} lines`, () => {
  const long = files
    .map((file) => ({ file, lines: textOf(file).trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > MOST_LINES);
  expect(long).toEqual([]);
});
