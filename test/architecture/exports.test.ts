import { expect, it } from "vitest";
import { exportsOf, publicEntryPoints } from "./exports.ts";

const entryPoints = publicEntryPoints();

it("finds the entry points", () => {
  expect(entryPoints.map(({ name }) => name)).toEqual(expect.arrayContaining(["spillway", "@spillway/http"]));
});

it("the names that packages offer are the ones in exports.json; `npx vitest run test/architecture -u` accepts a change", async () => {
  const offered = Object.fromEntries(entryPoints.map(({ name, file }) => [name, exportsOf(file)]));
  await expect(`${JSON.stringify(offered, null, 2)}\n`).toMatchFileSnapshot("./exports.json");
});
