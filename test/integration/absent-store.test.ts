import { setTimeout as sleep } from "node:timers/promises";
import { eventually, startRedisServer } from "@spillway/testkit";
import type { Decision } from "spillway";
import { expect, it } from "vitest";
import { holdMs } from "../../packages/spillway/src/failover/common-return.ts";
import { startProgram } from "../support/run-program.ts";

interface Answer {
  /** Of a request through the plugin, beside them. */
  readonly statusCode: number;
  readonly decisions: readonly { readonly decision: Decision; readonly tookMs: number }[];
}

const DEADLINE_MS = 250;

it("C11: a process that starts without Redis lives, decides by its share, and moves to Redis by itself", {
  timeout: 60_000,
}, async () => {
  const server = await startRedisServer();
  await server.kill();
  const env = { REDIS_PORT: String(server.port), DEADLINE_MS: String(DEADLINE_MS) };
  const program = startProgram("server-without-redis.mjs", { env, withinMs: 40_000 });
  try {
    expect(await program.next()).toBe("ready");
    await sleep(1500);
    program.send({ ask: 20 });
    const first = (await program.next()) as Answer;
    expect(first.statusCode).toBe(200);
    for (const { decision, tookMs } of first.decisions) {
      expect(decision).toMatchObject({ degraded: true, source: "backstop" });
      expect(tookMs).toBeLessThan(DEADLINE_MS + 150);
    }
    expect(first.decisions.filter(({ decision }) => decision.allowed)).toHaveLength(10);

    await server.restart();
    await eventually(
      async () => {
        program.send({ ask: 1, key: "somebody else" });
        const { decisions } = (await program.next()) as Answer;
        return decisions[0]?.decision.source === "store";
      },
      { withinMs: 5000, everyMs: 200 },
    );
    // It goes on holding itself to its share until other processes must have found out too.
    program.send({ ask: 5 });
    const held = ((await program.next()) as Answer).decisions.map(({ decision }) => decision);
    for (const decision of held) expect(decision).toMatchObject({ allowed: false, source: "backstop" });
    await sleep(holdMs(Number.POSITIVE_INFINITY, DEADLINE_MS) + 200);
    program.send({ ask: 20 });
    const second = (await program.next()) as Answer;
    expect(second.statusCode).toBe(200);
    expect(second.decisions.map(({ decision }) => decision.degraded)).not.toContain(true);
    // The bucket was full, but for what went in without it, which the process repays about now.
    const admitted = second.decisions.filter(({ decision }) => decision.allowed).length;
    expect(admitted).toBeGreaterThanOrEqual(10);
    expect(admitted).toBeLessThanOrEqual(20);

    program.send({ end: true });
    const { code, errors, output } = await program.ended;
    expect([code, errors]).toEqual([0, ""]);
    // One line for each change, none for each try.
    expect(output.trim().split("\n")).toEqual(["away", "back"]);
  } finally {
    await server.stop();
  }
});
