import { commandCalls } from "@spillway/testkit";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { startProgram } from "../support/run-program.ts";

const redis = redisFixture();

interface Report {
  readonly asked: number;
  readonly allowed: number;
  readonly sources: Readonly<Record<string, number>>;
}

describe("C10 a: one key with 100 per minute, four processes, 4,000 calls a second", { timeout: 60_000 }, () => {
  it.each([
    ["a fixed window", "fixed-window", "false", 5],
    ["a sliding window log", "sliding-window-log", "false", 2],
    ["a sliding window counter", "sliding-window-counter", "false", 2],
    ["a token bucket", "token-bucket", "false", 2],
    ["a token bucket with leases", "token-bucket", "true", 2],
  ])(
    "admits 100 and what comes in meanwhile, and asks Redis a few hundred times (%s)",
    async (_, algorithm, lease, forSeconds) => {
      const env = {
        REDIS_PORT: String(redis.server.port),
        ALGORITHM: algorithm,
        LEASE: lease,
        CALLS: String(1000 * forSeconds),
        SECONDS: String(forSeconds),
      };
      const programs = Array.from({ length: 4 }, () => startProgram("hammer.mjs", { env, withinMs: 40_000 }));
      for (const program of programs) expect(await program.next()).toBe("ready");
      await redis.client.config("RESETSTAT");
      const startedMs = performance.now();
      for (const program of programs) program.send({ go: true });
      const reports = (await Promise.all(programs.map((program) => program.next()))) as Report[];
      const seconds = (performance.now() - startedMs) / 1000;
      const calls = await commandCalls(redis.client);
      const scripts = (calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0);
      const sum = (of: (report: Report) => number): number => reports.reduce((total, report) => total + of(report), 0);
      process.stdout.write(
        `C10 a: ${sum(({ asked }) => asked)} calls, ${scripts} script calls, ${JSON.stringify(reports.map(({ sources }) => sources))}\n`,
      );
      expect(sum(({ asked }) => asked)).toBe(4000 * forSeconds);
      const tokens = sum(({ allowed }) => allowed);
      expect(tokens).toBeGreaterThanOrEqual(100);
      expect(tokens).toBeLessThanOrEqual(algorithm !== "token-bucket" ? 100 : 100 + (seconds * 100) / 60);
      expect(scripts).toBeLessThan(500);
      for (const { code, errors } of await Promise.all(programs.map(({ ended }) => ended)))
        expect([code, errors]).toEqual([0, ""]);
    },
  );
});

it("C10 a: the first call after the end of the window is admitted, though refusals were remembered until then", async () => {
  const limiter = redis.limiter({ policies: { name: "p", limit: 3, period: 700, algorithm: "fixed-window" } });
  let endsMs = 0;
  for (let i = 0; i < 200; i++) {
    const decision = await limiter.consume("k");
    if (!decision.allowed) endsMs = Math.max(endsMs, performance.now() + decision.retryAfterMs);
  }
  await new Promise((resolve) => setTimeout(resolve, endsMs - performance.now() + 1));
  expect(await limiter.consume("k")).toMatchObject({ allowed: true });
});

it("a refused key is answered locally, at any rate, by at most a few calls a second", { timeout: 30_000 }, async () => {
  const limiter = redis.limiter({ policies: { name: "p", limit: 70, period: "1s", burst: 20 }, lease: false });
  const startedMs = performance.now();
  await limiter.peek("k");
  await redis.client.config("RESETSTAT");
  let asked = 0;
  while (performance.now() - startedMs < 2000) {
    for (let i = 0; i < 200; i++) {
      asked++;
      if (limiter.consumeNow("k") === undefined) await limiter.consume("k");
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const perSecond = ((await commandCalls(redis.client)).get("evalsha") ?? 0) / seconds;
  process.stdout.write(`refused key: ${Math.round(asked / seconds)} asks/s, ${perSecond.toFixed(0)} script calls/s\n`);
  expect(perSecond).toBeLessThan(200);
});
