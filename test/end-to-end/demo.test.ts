import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../../packages/demo/dist/main.js", import.meta.url));
const RUN_MS = 60_000;

interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const started: ChildProcess[] = [];
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "spillway-demo-"));
});

afterEach(() => {
  // Only what a failed test left: each demo leads a process group of its own.
  for (const child of started.splice(0)) if (groupLives(child)) process.kill(-child.pid!, "SIGKILL");
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the demo at the head of a process group, so that what it leaves behind can be seen. */
function startDemo(...args: string[]): { child: ChildProcess; finished: Promise<Finished>; stderr: () => string } {
  const child = spawn(process.execPath, [MAIN, ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folder,
  });
  started.push(child);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const finished = new Promise<Finished>((resolve) => {
    child.on("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  return { child, finished, stderr: () => stderr };
}

function groupLives(child: ChildProcess): boolean {
  try {
    return process.kill(-child.pid!, 0);
  } catch {
    return false;
  }
}

describe("the demo", () => {
  it(
    "shows the leak and its fix, prints one JSON document last, writes a report and leaves no process behind",
    async () => {
      const { child, finished } = startDemo("--seconds", "3", "--seed", "11", "--json", "--report", "report.html");
      const { exitCode, stdout, stderr } = await finished;
      expect(exitCode, stderr).toBe(0);
      expect(groupLives(child)).toBe(false);

      const lines = stdout.trimEnd().split("\n");
      expect(lines).toHaveLength(1);
      const document = JSON.parse(lines[0]!);
      expect(document).toMatchObject({
        limit: 70,
        period: "1s",
        burst: 20,
        seconds: 3,
        workers: 4,
        offeredPerSecond: 400,
        seed: 11,
        store: { kind: "redis", version: expect.stringMatching(/^\d+\./), from: expect.any(String) },
      });
      const [perProcess, exact] = document.runs;
      expect(document.runs.map((run: { mode: string }) => run.mode)).toEqual(["per-process", "exact"]);
      for (const run of document.runs) {
        expect(run.bound).toBeCloseTo(20 + 0.07 * run.spanMs, 1);
        expect(run.ratio).toBeCloseTo(run.admitted / run.bound, 2);
        expect(run.admitted + run.refused).toBe(run.offered);
        expect(run.perWorker).toHaveLength(4);
        expect(run.perWorker.reduce((sum: number, admitted: number) => sum + admitted, 0)).toBe(run.admitted);
        expect(run.offeredPerSecond.reduce((sum: number, offered: number) => sum + offered, 0)).toBe(run.offered);
        expect(run.degraded).toBe(0);
        expect(run.decisionP99Ms).toBeGreaterThan(0);
        expect(run.requestP99Ms).toBeGreaterThanOrEqual(run.requestP50Ms);
      }
      // The same seed, so the same arrivals.
      expect(exact.offered).toBe(perProcess.offered);
      expect(perProcess.ratio).toBeGreaterThan(3.8);
      expect(perProcess.ratio).toBeLessThanOrEqual(4);
      expect(perProcess.storeCalls).toBe(0);
      expect(exact.admitted).toBeLessThanOrEqual(exact.bound);
      expect(exact.admitted).toBeGreaterThanOrEqual(exact.bound - Math.max(exact.bound / 100, 3));
      // Requests that arrive together share a call, and a refusal is remembered for a while.
      expect(exact.storeCalls).toBeGreaterThan(0);
      expect(exact.storeCalls).toBeLessThanOrEqual(exact.offered);
      expect(exact.callsPerDecision).toBeCloseTo(exact.storeCalls / exact.offered, 2);

      const report = readFileSync(join(folder, "report.html"), "utf8");
      expect(report).toContain(`exact, worker 1: ${exact.perWorker[0]} admitted`);
    },
    RUN_MS,
  );

  it(
    "ends all its processes when it is interrupted",
    async () => {
      const { child, finished, stderr } = startDemo("--modes", "exact", "--seconds", "30");
      await expect.poll(stderr, { timeout: RUN_MS / 2, interval: 50 }).toMatch(/exact: .* sent/);
      process.kill(-child.pid!, "SIGINT");
      expect(await finished).toMatchObject({ exitCode: 130, stderr: expect.stringContaining("Stopped by SIGINT.") });
      expect(groupLives(child)).toBe(false);
    },
    RUN_MS,
  );

  it("names an option that it cannot use, and exits with 2 before it starts anything", async () => {
    const { finished } = startDemo("--workers", "none");
    const { exitCode, stdout, stderr } = await finished;
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain('--workers must be a whole number from 1 to 64, got "none".');
  });

  it("explains its options with --help", async () => {
    const { exitCode, stdout } = await startDemo("--help").finished;
    expect(exitCode).toBe(0);
    expect(stdout).toContain("--modes a,b");
  });
});
