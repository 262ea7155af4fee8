import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, namesIn, tableIn, textOf } from "./source-files.ts";

/** Files that think, by package: plain functions and state machines that are told what time it is. */
const files = tableIn("docs/architecture.md", "pure").flatMap(([folder = "", names = ""]) =>
  namesIn(names).map((name) => join(namesIn(folder)[0] as string, name)),
);

/** What reads a clock, waits, draws lots or touches the world outside. */
const WORLD =
  /\b(?:Date\.now|new Date\(\)|performance|Math\.random|setTimeout|setInterval|setImmediate|queueMicrotask|nextTick|process|fetch|console|globalThis|crypto|await|async|Promise)\b/;

describe("the parts of admission that think, as docs/architecture.md says", () => {
  it("are listed, the line and its order among them", () => {
    expect(files).toEqual(
      expect.arrayContaining(["packages/admission/src/line.ts", "packages/admission/src/line-order.ts"]),
    );
  });

  it.each(files)("%s has no clock, timer or I/O of its own", (file) => {
    expect(codeOf(file).filter((line) => WORLD.test(line))).toEqual([]);
  });

  it.each(files)("%s takes from elsewhere types alone, or what such parts offer", (file) => {
    const taken = importsOf(file)
      .filter(({ typeOnly }) => !typeOnly)
      .map(({ specifier }) => (specifier.startsWith(".") ? join(dirname(file), specifier) : specifier));
    expect(taken.filter((one) => !files.includes(one))).toEqual([]);
  });
});

/** The lines of a file without its comments. */
function codeOf(file: string): string[] {
  return textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/\/\/.*$/gm, "")
    .split("\n");
}
