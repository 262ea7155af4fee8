import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HAS_LUACHECK = spawnSync("luacheck", ["--version"], { timeout: 30_000 }).status === 0;

function check(
  fixture: string,
  environment: NodeJS.ProcessEnv = process.env,
): { exitCode: number | null; output: string[] } {
  const args = ["scripts/check-lua.mjs", "--lua", `test/lua/fixtures/${fixture}`];
  const run = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", timeout: 60_000, env: environment });
  return { exitCode: run.status, output: `${run.stdout}${run.stderr}`.split("\n").filter((line) => line !== "") };
}

/** No luacheck and no apt-get on its path. */
const BARE = { ...process.env, PATH: "/nonexistent", CI: "" };

describe("check-lua", () => {
  it("names the source line of each key that is not from KEYS, each computed command and each time turned into text", () => {
    const { exitCode, output } = check("lint-faults", BARE);
    const at = "test/lua/fixtures/lint-faults/take.lua";
    expect(exitCode).toBe(1);
    expect(output.filter((line) => line.startsWith(at))).toEqual([
      `${at}:9: GET must take its key from KEYS[...], unpack(KEYS) or a parameter "key"`,
      `${at}:9: ".." cuts a time to 14 digits; it is allowed in error texts only`,
      `${at}:10: the command of redis.call must be written out, got ARGV[1]`,
      `${at}:12: only KEYS[...] may become a "key"`,
      `${at}:16: tostring cuts a time to 14 digits; pass numbers, or use string.format("%.0f")`,
    ]);
  });

  it("says plainly that luacheck is missing: a note by hand, a failure in CI", () => {
    const byHand = check("good", BARE);
    expect(byHand.output.join("\n")).toContain("luacheck is not installed, so the Lua scripts were not linted");
    expect(byHand.exitCode).toBe(0);
    expect(check("good", { ...BARE, CI: "true" }).exitCode).toBe(1);
  });

  it.skipIf(!HAS_LUACHECK)("passes clean scripts", () => {
    expect(check("good")).toEqual({ exitCode: 0, output: ["2 Lua scripts checked"] });
  });

  it.skipIf(!HAS_LUACHECK)("maps what luacheck finds back to the fragment or script it stands in", () => {
    const output = check("lint-faults").output.join("\n");
    expect(output).toMatch(
      /lint-faults\/lib\/leaky\.lua:4:\d+: \(W113\) accessing undefined variable '?os'?.* \[in take\]/,
    );
    expect(output).toMatch(/lint-faults\/take\.lua:11:\d+: \(W111\) setting non-standard global variable 'leaked'/);
  });

  it.skipIf(!HAS_LUACHECK)(
    "calls a function of a fragment unused only when no script that includes it calls it",
    () => {
      const unused = check("lint-faults").output.filter((line) => line.includes("unused function"));
      expect(unused).toEqual([
        "test/lua/fixtures/lint-faults/lib/shared.lua:4:16: (W211) unused function 'for_nobody' [in peek, take]",
      ]);
    },
  );
});
