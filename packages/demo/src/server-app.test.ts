import { afterEach, describe, expect, it } from "vitest";
import { createServer, type DemoServer } from "./server-app.ts";

const SETTINGS = {
  modes: ["per-process"],
  policy: { name: "demo", limit: 1, period: "1h", burst: 2 },
  workers: 1,
  prefix: "unused",
  redisUrls: {},
} as const;

let server: DemoServer | undefined;

afterEach(() => server?.close());

function withoutRedis(): never {
  throw new Error("No mode here needs Redis.");
}

describe("createServer", () => {
  it("limits each API key by itself, names its worker on every answer, and records the decisions", async () => {
    server = await createServer(SETTINGS, "worker-1", withoutRedis);
    const statuses: number[] = [];
    for (const key of ["a", "a", "a", "b"]) {
      const answer = await server.app.inject({ url: "/per-process", headers: { "x-api-key": key } });
      expect(answer.headers["x-worker"]).toBe("worker-1");
      statuses.push(answer.statusCode);
    }
    expect(statuses).toEqual([200, 200, 429, 200]);
    expect(server.recorders.get("per-process")?.take().decisions).toBe(4);
  });

  it("opens Redis only for a mode that needs it", async () => {
    await expect(createServer({ ...SETTINGS, modes: ["exact"] }, "worker-1", withoutRedis)).rejects.toThrow(
      "No mode here needs Redis.",
    );
  });

  it("knows the modes of the table only", async () => {
    await expect(createServer({ ...SETTINGS, modes: ["quick"] }, "worker-1", withoutRedis)).rejects.toThrow(
      'There is no mode "quick"',
    );
  });
});
