import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

let folder = "";
afterEach(async () => {
  if (folder !== "") await rm(folder, { recursive: true, force: true });
});

function lab(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["bench/experiments/main.mjs", ...args], { timeout: 110_000 }, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err }),
    );
  });
}

describe("npm run lab", () => {
  it("runs the experiment that is named, meets its marks, and writes a page that needs nothing else", async () => {
    folder = await mkdtemp(join(tmpdir(), "spillway-lab-"));
    const { code, out } = await lab("counting", "--quick", "--json", "--out", folder);
    expect(code).toBe(0);
    const document = JSON.parse(out.trimEnd().split("\n").at(-1) as string);
    expect(document.experiments).toMatchObject([{ name: "counting", findings: { marks: expect.any(Array) } }]);
    for (const { met, text } of document.experiments[0].findings.marks) expect(met, text).toBe(true);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(["lab.html", "lab.json"]));
    const page = await readFile(join(folder, "lab.html"), "utf8");
    expect(page).toContain("<svg");
    expect(page).not.toMatch(/(src|href)="(?!#)/);
  });

  it("runs several, and meets the marks of those on a virtual clock", async () => {
    folder = await mkdtemp(join(tmpdir(), "spillway-lab-"));
    const names = ["queue", "slowdown", "wait-sweep", "leaky-line", "traps"];
    const { code, out } = await lab(...names, "--quick", "--out", folder);
    expect(code).toBe(0);
    expect(out).not.toContain("MISSED");
    for (const name of names) expect(out).toMatch(new RegExp(`^${name}: .*\\.$`, "m"));
  });

  it.each([
    [["nothing"], "There is no experiment nothing"],
    [["--seed", "x"], "--seed takes a whole number"],
    [["--rounds", "0"], "--rounds takes a whole number from 1 to 100"],
    [["--fast"], "--fast"],
  ])("%j ends with 2 and says why", async (args, message) => {
    expect(await lab(...args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});
