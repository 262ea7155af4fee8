import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { startWorkerFleet, type WorkerFleet, type WorkerFleetOptions } from "./worker-fleet.ts";

const module = new URL("./fixtures/echo-worker.mjs", import.meta.url);
let fleet: WorkerFleet | undefined;

afterEach(async () => {
  await fleet?.stop();
  fleet = undefined;
});

async function started(options: Partial<WorkerFleetOptions> = {}): Promise<WorkerFleet> {
  fleet = await startWorkerFleet({ module, count: 2, ...options });
  return fleet;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a worker fleet", () => {
  it("asks one worker or all, each with its own arguments, and keeps answers in order", async () => {
    const workers = await started({ args: (index) => [`worker-${index}`], env: { FLEET_TEST: "yes" } });
    const echo = { kind: "echo", value: new Map([["a", 1n]]) };
    const [first, second] = ["worker-0", "worker-1"].map((argument) => ({
      value: new Map([["a", 1n]]),
      argument,
      variable: "yes",
    }));
    expect(await workers.ask(1, echo)).toEqual(second);
    expect(await workers.askAll(echo)).toEqual([first, second]);
    expect(new Set(workers.pids).size).toBe(2);
  });

  it("passes a worker's error on, and goes on working", async () => {
    const workers = await started();
    await expect(workers.ask(0, { kind: "fail", value: "no such thing" })).rejects.toThrow("Worker 0: no such thing");
    await expect(workers.ask(0, { kind: "echo", value: 1 })).resolves.toMatchObject({ value: 1 });
  });

  it("gives up on an answer that does not come in time", async () => {
    const workers = await started();
    await expect(workers.ask(1, { kind: "silence" }, 100)).rejects.toThrow("Waited 100 ms for the answer of Worker 1");
  });

  it("fails the questions of a worker that ends, and later ones at once", async () => {
    const workers = await started();
    await expect(workers.ask(0, { kind: "end", value: 7 })).rejects.toThrow("Worker 0 ended (7) before it answered");
    expect(await workers.exited(0)).toBe(7);
    await expect(workers.ask(0, { kind: "echo" })).rejects.toThrow("Worker 0 is gone");
    await expect(workers.ask(1, { kind: "echo", value: 2 })).resolves.toMatchObject({ value: 2 });
  });

  it("sends signals", async () => {
    const workers = await started();
    workers.signal(1, "SIGKILL");
    expect(await workers.exited(1)).toBe("SIGKILL");
  });

  it("refuses to ask a worker that it does not have", async () => {
    const workers = await started();
    await expect(workers.ask(2, { kind: "echo" })).rejects.toThrow("no worker 2 among 2");
  });

  it("does not start when a worker ends at once, and leaves none behind", async () => {
    await expect(started({ args: (index) => [index === 1 ? "end-at-once" : ""] })).rejects.toThrow(
      "Worker 1 ended (3)",
    );
  });
});

describe("a stopped worker fleet", () => {
  it("has no process left, though one was busy and one was frozen", async () => {
    const workers = await started({ count: 3 });
    const silent = workers.ask(0, { kind: "silence" });
    silent.catch(() => {});
    workers.signal(1, "SIGSTOP");
    await Promise.all([workers.stop(300), workers.stop(300)]);
    await expect(silent).rejects.toThrow("ended");
    await eventually(() => !workers.pids.some(isAlive), { withinMs: 2_000 });
  });
});
