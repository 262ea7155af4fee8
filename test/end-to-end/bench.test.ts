import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type BenchDocument, caseResult } from "../../bench/harness/document.ts";
import { runHeat } from "../../bench/harness/heat.ts";
import { type CaseDefinition, type Contestant, Disqualified, perSecond } from "../../bench/harness/question.ts";

const MAIN = fileURLToPath(new URL("../../bench/main.mjs", import.meta.url));
const RUN_MS = 60_000;

interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runBench(...args: string[]): Promise<Finished> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => child.kill("SIGKILL"), RUN_MS);
    child.on("error", reject);
    child.on("close", (exitCode) => {
      clearTimeout(limit);
      resolve({ exitCode, stdout, stderr });
    });
  });
}

describe("npm run bench", () => {
  it(
    "answers the questions that are named and prints one JSON document last",
    async () => {
      const { exitCode, stdout, stderr } = await runBench(
        "memory",
        "lease-vs-exact",
        "--quick",
        "--json",
        "--rounds",
        "2",
      );
      expect(exitCode, stderr).toBe(0);
      const lines = stdout.trimEnd().split("\n");
      expect(lines).toHaveLength(1);
      const document = JSON.parse(lines[0]!) as BenchDocument;
      expect(document).toMatchObject({
        quick: true,
        machine: { processors: expect.any(Number) },
        versions: { node: process.versions.node, redis: expect.stringMatching(/^\d+\./), spillway: expect.any(String) },
      });
      expect(document.cases.map(({ name }) => name)).toEqual([
        "memory/consumeNow/1000-keys",
        "memory/consume/1000-keys",
        "lease-vs-exact/1-key",
        "lease-vs-exact/redis-calls/1-key",
      ]);
      for (const { ours, peers, ratios, unit, spread, rounds, disqualified } of document.cases) {
        expect(unit).toEqual(expect.any(String));
        expect(disqualified).toEqual({});
        expect(rounds).toBe(2);
        expect(ours).toBeGreaterThan(0);
        expect(Object.keys(peers).length).toBeGreaterThan(1);
        expect(Object.keys(ratios)).toEqual(Object.keys(peers));
        for (const value of [...Object.values(peers), ...Object.values(ratios)]) expect(value).toBeGreaterThan(0);
        for (const [low, high] of Object.values(spread)) expect(low).toBeLessThanOrEqual(high);
      }
    },
    RUN_MS,
  );

  it("names a question that it does not have, and lists those that it has, before it starts anything", async () => {
    const { exitCode, stdout, stderr } = await runBench("cold-kees", "--json");
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/no question "cold-kees".*cold-keys, one-key, refused-key, script-cost, memory, lease-hit/);
  });

  it.each([["none"], ["0"], ["1.5"], ["100000"]])("refuses --rounds %s", async (rounds) => {
    const { exitCode, stderr } = await runBench("--rounds", rounds);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`--rounds must be a whole number from 1 to 1000, got "${rounds}".`);
  });

  it("explains itself with --help", async () => {
    const { exitCode, stdout } = await runBench("--help");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("--quick");
    expect(stdout).toContain("cold-keys");
  });
});

describe("a heat", () => {
  const figure: CaseDefinition = {
    name: "speed",
    unit: "things/s",
    better: "more",
    ours: "ours",
    peers: ["peer", "wrong", "wrong later"],
    value: perSecond,
    marks: [{ peer: "peer", atLeast: 2 }, { peer: "peer", atMost: 2 }, { peer: "wrong", atLeast: 1 }, { oursBelow: 1 }],
  };

  function contestant(name: string, operations: number, turns: string[], more: Partial<Contestant> = {}): Contestant {
    return {
      name,
      check: async () => undefined,
      run({ number }) {
        turns.push(`${number} ${name}`);
        return { operations: operations * (number + 1), wallMs: 1000 };
      },
      ...more,
    };
  }

  it("lets contestants take turns, the first place moving on, and compares them round by round", async () => {
    const turns: string[] = [];
    const contestants = [contestant("ours", 30, turns), contestant("peer", 10, turns)];
    const result = await runHeat({ contestants, cases: [figure] }, { rounds: 2, roundMs: 1 });
    expect(turns).toEqual(["0 ours", "0 peer", "1 peer", "1 ours", "2 ours", "2 peer"]);
    expect(caseResult("question", figure, result)).toMatchObject({
      // Without the warm-up round: 60 and 90 against 20 and 30.
      ours: 75,
      peers: { peer: 25 },
      ratios: { peer: 3 },
      spread: { ours: [67.5, 82.5] },
      rounds: 2,
      marks: [
        { text: "at least 2 x peer", met: true },
        { text: "at most 2 x peer", met: false },
        { text: "below 1", met: false },
      ],
    });
  });

  it("does not time who answers wrongly, says why, and judges no mark by it", async () => {
    const turns: string[] = [];
    const lost = (): never => {
      throw new Disqualified("it lost count");
    };
    const contestants = [
      contestant("ours", 30, turns),
      contestant("wrong", 99, turns, { check: async () => "it admitted 101; the limit is 100" }),
      contestant("wrong later", 99, turns, { run: lost }),
    ];
    const result = await runHeat({ contestants, cases: [figure] }, { rounds: 1, roundMs: 1 });
    const read = caseResult("question", figure, result);
    expect(turns).toEqual(["0 ours", "1 ours"]);
    expect(read.peers).toEqual({});
    expect(read.disqualified).toEqual({ wrong: "it admitted 101; the limit is 100", "wrong later": "it lost count" });
    expect(read.marks).toEqual([{ text: "below 1", met: false }]);
  });

  it("has no figure for Spillway when Spillway is wrong", async () => {
    const contestants = [contestant("ours", 1, [], { check: async () => "no" }), contestant("peer", 1, [])];
    const result = await runHeat({ contestants, cases: [figure] }, { rounds: 1, roundMs: 1 });
    expect(caseResult("question", figure, result)).toMatchObject({
      ours: null,
      ratios: {},
      disqualified: { ours: "no" },
    });
  });
});
