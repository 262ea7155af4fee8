import { request } from "node:http";
import { expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { startProgram } from "../support/run-program.ts";

const redis = redisFixture();
const LIMIT = 60;

it("C23 a: three processes that offer a hundred each admit sixty together", { timeout: 60_000 }, async () => {
  const env = {
    REDIS_PORT: String(redis.server.port),
    ALGORITHM: "fixed-window",
    LEASE: "false",
    LIMIT: String(LIMIT),
    CALLS: "100",
    SECONDS: "2",
  };
  const programs = Array.from({ length: 3 }, () => startProgram("hammer.mjs", { env }));
  for (const program of programs) expect(await program.next()).toBe("ready");
  for (const program of programs) program.send({ go: true });
  const reports = (await Promise.all(programs.map((program) => program.next()))) as {
    asked: number;
    allowed: number;
  }[];
  expect(reports.map(({ asked }) => asked)).toEqual([100, 100, 100]);
  expect(reports.reduce((sum, { allowed }) => sum + allowed, 0)).toBe(LIMIT);
  for (const { code, errors } of await Promise.all(programs.map(({ ended }) => ended)))
    expect([code, errors]).toEqual([0, ""]);
});

it("C23 b: three processes that offer a hundred each while Redis is stopped admit their thirds, and say that they do without it", {
  timeout: 60_000,
}, async () => {
  const env = {
    REDIS_PORT: String(redis.server.port),
    ALGORITHM: "fixed-window",
    LEASE: "false",
    LIMIT: String(LIMIT),
    CALLS: "100",
    SECONDS: "2",
    DEADLINE_MS: "50",
    REPLICAS: "3",
  };
  const programs = Array.from({ length: 3 }, () => startProgram("hammer.mjs", { env }));
  for (const program of programs) expect(await program.next()).toBe("ready");
  redis.afterwards(() => redis.server.resume());
  redis.server.pause();
  for (const program of programs) program.send({ go: true });
  for (const report of await Promise.all(programs.map((program) => program.next())))
    expect(report).toEqual({ asked: 100, allowed: LIMIT / 3, sources: { backstop: 100 } });
  for (const { code } of await Promise.all(programs.map(({ ended }) => ended))) expect(code).toBe(0);
});

it("C23 d: four workers of a cluster that share a port admit sixty together", { timeout: 60_000 }, async () => {
  const program = startProgram("port-sharing-server.mjs", { env: { REDIS_PORT: String(redis.server.port) } });
  const { port } = (await program.next()) as { port: number };
  const statuses: number[] = [];
  // A connection of its own for each request, so that all workers get some.
  for (let i = 0; i < 20; i++) statuses.push(...(await Promise.all(Array.from({ length: 10 }, () => statusOf(port)))));
  program.send({ ask: true });
  const { served } = (await program.next()) as { served: number[] };
  program.send({ end: true });
  await program.ended;
  expect(served).toHaveLength(4);
  for (const count of served) expect(count).toBeGreaterThan(20);
  expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
  expect(statuses.filter((status) => status === 429)).toHaveLength(200 - LIMIT);
});

function statusOf(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    })
      .once("error", reject)
      .end();
  });
}
