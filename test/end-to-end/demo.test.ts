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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Cut off from 40 % to 70 % of 3 s, the fleet stays at the limit, and says of each such answer how it came about. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of the JSON document is what is tested
function expectOutage({ admitted, bound, degraded, outage, storeCallsPerSecond }: any): void {
  expect(outage).toMatchObject({ fromSecond: 1.2, toSecond: 2.1 });
  expect(outage.degraded).toBeGreaterThan(0.8 * outage.offered);
  expect(degraded).toBeGreaterThanOrEqual(outage.degraded);
  expect(outage.decisionP99Ms).toBeGreaterThan(0);
  expect(outage.awayPerWorker).toHaveLength(4);
  for (const away of outage.awayPerWorker) expect(away.toMs).toBeGreaterThan(away.fromMs);
  expect(outage.excess).toMatchObject({ shares: 20 });
  expect(outage.excess.savedUp).toBeLessThanOrEqual(20);
  const { shares, savedUp, apart } = outage.excess;
  expect(admitted).toBeLessThanOrEqual(bound + shares + savedUp + apart);
  expect(admitted).toBeGreaterThanOrEqual(0.8 * bound);
  expect(outage.admitted).toBeGreaterThanOrEqual(0.8 * 70 * 0.9);
  expect(sum(storeCallsPerSecond)).toBeGreaterThan(0);
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
      expect(document.skipped).toEqual([]);
      expect(document.connection).toBe("one per request");
      const [perProcess, exact, lease, outage] = document.runs;
      expect(document.runs.map((run: { mode: string }) => run.mode)).toEqual([
        "per-process",
        "exact",
        "lease",
        "outage",
      ]);
      for (const run of document.runs) {
        expect(run.bound).toBeCloseTo(20 + 0.07 * run.spanMs, 1);
        expect(run.ratio).toBeCloseTo(run.admitted / run.bound, 2);
        expect(run.admitted + run.refused).toBe(run.offered);
        expect(run.perWorker).toHaveLength(4);
        expect(sum(run.perWorker)).toBe(run.admitted);
        expect(sum(run.offeredPerSecond)).toBe(run.offered);
        expect(sum(Object.values(run.sources))).toBe(run.offered);
        expect(run.degraded).toBe(run.sources.backstop ?? 0);
        expect(run.decisionP99Ms).toBeGreaterThan(0);
        expect(run.requestP99Ms).toBeGreaterThanOrEqual(run.requestP50Ms);
        // The same seed, so the same arrivals.
        expect(run.offered).toBe(perProcess.offered);
        expect(run.callsPerDecision).toBeCloseTo(run.storeCalls / run.offered, 2);
      }
      expect(perProcess.ratio).toBeGreaterThan(3.8);
      expect(perProcess.ratio).toBeLessThanOrEqual(4);
      expect(perProcess.storeCalls).toBe(0);
      for (const run of [exact, lease]) {
        expect(run.admitted).toBeLessThanOrEqual(run.bound);
        expect(run.admitted).toBeGreaterThanOrEqual(run.bound - Math.max(run.bound / 100, 3));
        expect(run.degraded).toBe(0);
        expect(run.outage).toBeNull();
        // Requests that arrive together share a call, and a refusal is remembered for a while.
        expect(run.storeCalls).toBeGreaterThan(0);
        expect(run.storeCalls).toBeLessThanOrEqual(run.offered);
      }
      expectOutage(outage);

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
