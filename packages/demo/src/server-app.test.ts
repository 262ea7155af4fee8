import type { Store } from "spillway";
import { afterEach, describe, expect, it } from "vitest";
import { readDecisionNote } from "./decision-note.ts";
import { createServer, type DemoServer } from "./server-app.ts";

const SETTINGS = { modes: ["per-process"], policy: { limit: 1, period: "1h", burst: 2 }, workers: 1 } as const;

let server: DemoServer | undefined;

afterEach(() => server?.close());

const withoutStore = {
  storeOf(mode: string): never {
    throw new Error(`No store for ${mode}.`);
  },
};

describe("createServer", () => {
  it("limits each API key by itself, and names worker and decision on every answer", async () => {
    const answers: string[] = [];
    const onAnswer = (mode: string, allowed: boolean, degraded: boolean) =>
      answers.push(`${mode} ${allowed} ${degraded}`);
    server = await createServer(SETTINGS, "worker-1", { ...withoutStore, onAnswer });
    const statuses: number[] = [];
    for (const key of ["a", "a", "a", "b"]) {
      const answer = await server.app.inject({ url: "/per-process", headers: { "x-api-key": key } });
      expect(answer.headers["x-worker"]).toBe("worker-1");
      expect(readDecisionNote(String(answer.headers["x-decision"]))).toMatchObject({ degraded: false });
      expect(answer.headers["ratelimit-policy"]).toBe('"per-process";q=1;w=3600');
      statuses.push(answer.statusCode);
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
    const admitted = "per-process true false";
    expect(answers).toEqual([admitted, admitted, "per-process false false", admitted]);
  });

  it("says when the store had no part in a decision, and tells when a mode loses it", async () => {
    const fail = () => Promise.reject(new Error("The store is gone."));
    const gone: Store = {
      name: "gone",
      take: fail,
      peek: fail,
      adjust: fail,
      block: fail,
      reset: fail,
      close: async () => {},
    };
    const changes: string[] = [];
    server = await createServer({ ...SETTINGS, modes: ["exact"] }, "worker-1", {
      storeOf: () => gone,
      onStateChange: (mode, { state }) => changes.push(`${mode} ${state}`),
    });
    const notes: unknown[] = [];
    for (let request = 0; request < 30; request++) {
      const { headers } = await server.app.inject({ url: "/exact", headers: { "x-api-key": "a" } });
      notes.push(readDecisionNote(String(headers["x-decision"])));
    }
    expect(notes.every((note) => (note as { degraded: boolean }).degraded)).toBe(true);
    expect(changes).toEqual(["exact away"]);
  });

  it("opens a store only for a mode that shares one", async () => {
    await expect(createServer({ ...SETTINGS, modes: ["exact"] }, "worker-1", withoutStore)).rejects.toThrow(
      "No store for exact.",
    );
  });

  it("knows the modes of the table only", async () => {
    await expect(createServer({ ...SETTINGS, modes: ["quick"] }, "worker-1", withoutStore)).rejects.toThrow(
      'There is no mode "quick"',
    );
  });
});
