import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesUnder, ROOT, textOf } from "./source-files.ts";

const documents = [
  ...["README.md", "CONTRIBUTING.md"].filter((path) => existsSync(join(ROOT, path))),
  ...["docs", "lua", "packages"].flatMap((folder) => filesUnder(folder, [".md"])),
];
const LINK = /\]\((?!https?:|mailto:|#)([^)#]+)(?:#[^)]*)?\)/g;
/** A path from the root, as documents name files and folders. */
const PATH = /`((?:bench|docs|lua|packages|scripts|test|\.ci|\.changeset)\/[\w./@-]+)`/g;

describe.each(documents)("%s", (path) => {
  const text = textOf(path);

  it("links to files that are there", () => {
    const targets = [...text.matchAll(LINK)].map((match) => match[1] as string);
    expect(targets.filter((target) => !existsSync(join(ROOT, dirname(path), target)))).toEqual([]);
  });

  it("names files that are there", () => {
    const named = [...text.matchAll(PATH)].map((match) => match[1] as string);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});
