import { expect, it } from "vitest";
import { filesUnder, textOf } from "./source-files.ts";

it("warnings each have their section in docs/warnings.md, and it has no other", () => {
  const sources = filesUnder("packages", [".ts"]).filter((file) => !file.endsWith(".test.ts"));
  const codes = new Set(sources.flatMap((file) => textOf(file).match(/SPILLWAY_WARN_[A-Z_]+/g) ?? []));
  const explained = [...textOf("docs/warnings.md").matchAll(/^## `([^`]+)`$/gm)].map((match) => match[1] as string);
  expect(explained.length).toBeGreaterThan(5);
  expect(explained.toSorted()).toEqual([...codes].toSorted());
});
