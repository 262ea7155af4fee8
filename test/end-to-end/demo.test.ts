import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startRedisServer, whyNoContainers } from "@spillway/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../../packages/demo/dist/main.js", import.meta.url));
const RUN_MS = 100_000;

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

interface RunningDemo {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  stdout(): string;
  stderr(): string;
}

/** Starts the demo at the head of a process group, so that what it leaves behind can be seen. */
function startDemo(args: readonly string[], env: NodeJS.ProcessEnv = {}): RunningDemo {
  const child = spawn(process.execPath, [MAIN, ...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folder,
    env: { ...process.env, ...env },
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
  return { child, finished, stdout: () => stdout, stderr: () => stderr };
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

interface Mark {
  readonly kind: "floor" | "ceiling";
  readonly text: string;
  readonly held: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the shape of the JSON document is what is tested
type Json = any;

/** The document of a run that went well: no ceiling was missed, and a floor only where the demo found the machine too busy. */
function documentOf({ exitCode, stdout, stderr }: Finished): Json {
  const lines = stdout.trimEnd().split("\n");
  expect(lines, stderr).toHaveLength(1);
  const document: Json = JSON.parse(lines[0]!);
  const missed = document.runs.flatMap((run: Json) =>
    run.marks.filter((mark: Mark) => !mark.held && !isBusy(run, mark)),
  );
  expect(missed, stderr).toEqual([]);
  const anyMissed = document.runs.some((run: Json) => run.marks.some((mark: Mark) => !mark.held));
  expect(exitCode, stderr).toBe(anyMissed ? 1 : 0);
  return document;

  function isBusy(run: Json, mark: Mark): boolean {
    return mark.kind === "floor" && run.attempts === 3 && stderr.includes(`${run.mode}: this machine is too busy`);
  }
}

function marksOf(run: Json): string {
  return run.marks.map((mark: Mark) => mark.text).join("\n");
}

/** What holds for every run, however busy the machine is. */
function expectSound(run: Json): void {
  expect(run.ratio).toBeCloseTo(run.admitted / run.bound, 2);
  expect(run.admitted + run.refused).toBe(run.offered);
  expect(run.perWorker).toHaveLength(4);
  expect(sum(run.perWorker)).toBe(run.admitted);
  expect(sum(run.offeredPerSecond)).toBe(run.offered);
  expect(sum(Object.values(run.sources))).toBe(run.offered);
  expect(run.degraded).toBe(run.sources.backstop ?? 0);
  expect(run.decisionP99Ms).toBeGreaterThan(0);
  expect(run.requestP99Ms).toBeGreaterThanOrEqual(run.requestP50Ms);
  expect(run.callsPerDecision).toBeCloseTo(run.storeCalls / run.offered, 2);
  // Requests that arrive together share a call, and a refusal is remembered for a while.
  expect(run.storeCalls).toBeLessThanOrEqual(run.offered);
}

/** Cut off from 40 % to 70 % of 3 s, the fleet stays at the limit, and says of each such answer how it came about. */
function expectOutage({ admitted, bound, degraded, outage, marks, storeCalls }: Json): void {
  expect(outage).toMatchObject({ fromSecond: 1.2, toSecond: 2.1 });
  expect(outage.degraded).toBeGreaterThan(0);
  expect(degraded).toBeGreaterThanOrEqual(outage.degraded);
  expect(outage.decisionP99Ms).toBeGreaterThan(0);
  expect(outage.awayPerWorker).toHaveLength(4);
  for (const away of outage.awayPerWorker) expect(away.toMs).toBeGreaterThan(away.fromMs);
  expect(admitted).toBeLessThanOrEqual(bound);
  expect(storeCalls).toBeGreaterThan(0);
  expect(marks.filter((mark: Mark) => mark.kind === "floor")).toHaveLength(3);
}

describe("the demo", () => {
  it(
    "shows the leak and its fixes, prints one JSON document last, writes a report and leaves no process behind",
    async () => {
      const args = ["--seconds", "3", "--seed", "11", "--json", "--report", "report.html"];
      const { child, finished } = startDemo(args);
      const document = documentOf(await finished);
      expect(groupLives(child)).toBe(false);
      expect(document).toMatchObject({
        limit: 70,
        period: "1s",
        burst: 20,
        seconds: 3,
        workers: 4,
        offeredPerSecond: 400,
        seed: 11,
        connection: "one per request",
        store: { kind: "redis", version: expect.stringMatching(/^\d+\./), from: expect.any(String) },
        skipped: [],
      });
      expect(document.runs.map((run: Json) => run.mode)).toEqual(["per-process", "exact", "lease", "outage"]);
      const [perProcess, exact, lease, outage] = document.runs;
      for (const run of document.runs) {
        expectSound(run);
        expect(run.bound).toBeCloseTo(20 + 0.07 * run.spanMs, 1);
        // The same seed, so the same arrivals.
        expect(run.offered).toBe(perProcess.offered);
      }
      expect(marksOf(perProcess)).toMatch(/times the bound, at least 3.8/);
      expect(perProcess.ratio).toBeLessThanOrEqual(4);
      expect(perProcess.storeCalls).toBe(0);
      for (const run of [exact, lease]) {
        expect(run.admitted).toBeLessThanOrEqual(run.bound);
        expect(marksOf(run)).toMatch(/the bound less 1 % or 3/);
        expect(run.degraded).toBe(0);
        expect(run.outage).toBeNull();
        expect(run.storeCalls).toBeGreaterThan(0);
      }
      expectOutage(outage);

      const report = readFileSync(join(folder, "report.html"), "utf8");
      expect(report).toContain(`exact, worker 1: ${exact.perWorker[0]} admitted`);
      expect(report).toContain("store out of reach");
    },
    RUN_MS,
  );

  it(
    "needs at most one call for 20 decisions where leases are large",
    async () => {
      const load = ["--limit", "5000", "--burst", "1000", "--offered", "4000"];
      const { finished } = startDemo(["--modes", "exact,lease", "--seconds", "3", "--json", ...load]);
      const document = documentOf(await finished);
      expect(document.connection).toBe("kept open, dealt out evenly");
      const lease = document.runs[1];
      for (const run of document.runs) {
        expectSound(run);
        expect(run.admitted).toBeLessThanOrEqual(run.bound);
      }
      expect(marksOf(lease)).toMatch(/calls per decision, at most 0.05/);
      // On a machine that is late, some callers are decided for before the store answers.
      expect(lease.sources.lease).toBeGreaterThan(0.5 * lease.offered);
    },
    RUN_MS,
  );

  it(
    "runs without Redis on the embedded store, all but the outage",
    async () => {
      const { finished } = startDemo([
        "--store",
        "embedded",
        "--modes",
        "exact,lease,outage",
        "--seconds",
        "2",
        "--json",
      ]);
      const result = await finished;
      const document = documentOf(result);
      expect(document.store).toMatchObject({ kind: "embedded" });
      expect(document.runs.map((run: Json) => run.mode)).toEqual(["exact", "lease"]);
      expect(document.skipped).toEqual([{ mode: "outage", reason: expect.stringContaining("embedded") }]);
      expect(result.stderr).toContain("outage is left out");
      for (const run of document.runs) {
        expectSound(run);
        expect(run.admitted).toBeLessThanOrEqual(run.bound);
        expect(run.storeCalls).toBeGreaterThan(0);
      }
    },
    RUN_MS,
  );

  it(
    "falls back to the embedded store where no Redis can be had, and says so",
    async ({ skip }) => {
      if ((await whyNoContainers()) === undefined) skip("a container would be the Redis");
      const nowhere = { PATH: folder, SPILLWAY_REDIS_URL: "" };
      const result = await startDemo(["--modes", "lease", "--seconds", "1", "--json"], nowhere).finished;
      expect(documentOf(result).store).toMatchObject({ kind: "embedded" });
      expect(result.stderr).toContain("use the embedded one, clusterStore, in place of Redis");

      const insisting = await startDemo(["--modes", "lease", "--store", "redis"], nowhere).finished;
      expect(insisting).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("There is no Redis.") });
    },
    RUN_MS,
  );

  it(
    "takes the Redis of SPILLWAY_REDIS_URL, and does not cut it off",
    async () => {
      const redis = await startRedisServer();
      try {
        const modes = ["--modes", "lease,outage", "--seconds", "1", "--json"];
        const document = documentOf(await startDemo(modes, { SPILLWAY_REDIS_URL: redis.url }).finished);
        expect(document.store).toMatchObject({ kind: "redis", from: "SPILLWAY_REDIS_URL" });
        expect(document.runs.map((run: Json) => run.mode)).toEqual(["lease"]);
        expect(document.skipped).toEqual([{ mode: "outage", reason: expect.stringContaining("started itself") }]);

        const onlyOutage = startDemo(["--modes", "outage"], { SPILLWAY_REDIS_URL: redis.url });
        expect(await onlyOutage.finished).toMatchObject({
          exitCode: 1,
          stderr: expect.stringContaining("Nothing is left to run: outage"),
        });
      } finally {
        await redis.stop();
      }
    },
    RUN_MS,
  );

  it(
    "serves live figures and takes load until it is interrupted",
    async () => {
      const { child, finished, stdout } = startDemo(["--serve"]);
      await expect.poll(stdout, { timeout: RUN_MS / 2, interval: 50 }).toContain("Ctrl-C ends it.");
      const live = /Live figures: +(\S+)/.exec(stdout())![1]!;
      expect(await (await fetch(live)).text()).toContain("<h1>One limit, 4 workers, live</h1>");

      const route = /(\S+\/exact)/.exec(stdout())![1]!;
      const answer = await fetch(route, { headers: { "x-api-key": "me" } });
      expect(answer.headers.get("x-decision")).toMatch(/^store;ms=/);

      const order = JSON.stringify({ mode: "lease", perSecond: 200, seconds: 30 });
      const headers = { "content-type": "application/json" };
      expect((await fetch(`${live}load`, { method: "POST", headers, body: order })).status).toBe(202);
      expect(await firstFigures(live, /<b>\d+<\/b> admitted of [1-9]\d*/)).toMatch(/Sending 200 requests per second/);

      process.kill(-child.pid!, "SIGINT");
      expect(await finished).toMatchObject({ exitCode: 0 });
      expect(groupLives(child)).toBe(false);
    },
    RUN_MS,
  );

  it(
    "ends all its processes when it is interrupted",
    async () => {
      const { child, finished, stderr } = startDemo(["--modes", "exact", "--seconds", "30"]);
      await expect.poll(stderr, { timeout: RUN_MS / 2, interval: 50 }).toMatch(/exact: .* sent/);
      process.kill(-child.pid!, "SIGINT");
      expect(await finished).toMatchObject({ exitCode: 130, stderr: expect.stringContaining("Stopped by SIGINT.") });
      expect(groupLives(child)).toBe(false);
    },
    RUN_MS,
  );

  it("names an option that it cannot use, and exits with 2 before it starts anything", async () => {
    const { finished } = startDemo(["--workers", "none"]);
    const { exitCode, stdout, stderr } = await finished;
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain('--workers must be a whole number from 1 to 64, got "none".');
  });

  it("explains its options with --help", async () => {
    const { exitCode, stdout } = await startDemo(["--help"]).finished;
    expect(exitCode).toBe(0);
    expect(stdout).toContain("--modes a,b");
  });
});

/** The first event of the live page's stream in which `lease` shows what is looked for. */
async function firstFigures(live: string, looked: RegExp): Promise<string> {
  const response = await fetch(`${live}figures`, { signal: AbortSignal.timeout(RUN_MS / 4) });
  let text = "";
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString();
    for (const event of text.split("\n\n").slice(0, -1))
      if (looked.test(JSON.parse(event.slice("data: ".length))["note-lease"])) return event;
    text = text.slice(text.lastIndexOf("\n\n") + 2);
  }
  throw new Error("The stream of figures ended.");
}
