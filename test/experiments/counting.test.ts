import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { counting } from "../../bench/experiments/counting.ts";
import type { Lab } from "../../bench/experiments/experiment.ts";

const lab: Lab = { quick: false, rounds: 1, seed: 1, say: () => {} };
const choosing = readFileSync(new URL("../../docs/choosing.md", import.meta.url), "utf8");

/** Rows of the table of docs/choosing.md, without the first column: the same arrivals in the same order as in the lab. */
function documented(): string[][] {
  const [, table = ""] = /## The same arrivals[\s\S]*?\n\|---.*\n([\s\S]*?)\n\n/.exec(choosing) ?? [];
  return table.split("\n").map((row) =>
    row
      .split("|")
      .slice(2, -1)
      .map((cell) => cell.trim().replaceAll(",", "")),
  );
}

it("the lab counts what docs/choosing.md says, and meets its marks", { timeout: 60_000 }, async () => {
  const { tables, marks } = await counting.run(lab);
  expect(marks.filter(({ met }) => !met).map(({ text }) => text)).toEqual([]);
  expect(tables[0]?.rows.map((row) => row.slice(1).map(String))).toEqual(documented());
  const bursts = tables[1]?.rows.at(-1)?.map(String) ?? [];
  expect(bursts.slice(1)).toEqual(["75.0 %", expect.stringMatching(/^1[23]\./)]);
});
