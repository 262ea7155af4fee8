import { setTimeout as sleep } from "node:timers/promises";
import { startRedisServer } from "@spillway/testkit";
import { expect, it } from "vitest";
import { startProgram } from "../support/run-program.ts";

/** `SPILLWAY_SOAK=1` makes it a million keys, and waits five minutes after them. */
const IS_SOAK = process.env.SPILLWAY_SOAK === "1";
const KEYS = IS_SOAK ? 1_000_000 : 200_000;
const REFILL_PER_SECOND = 1;
const BURST = 20;
const MEGABYTE = 1e6;

interface Drained {
  readonly admitted: readonly number[];
  readonly atMs: number;
}

interface Flooded {
  /** Per call, of each tenth of the calls. */
  readonly cpuUs: readonly number[];
  readonly mostTimers: number;
  readonly slow: number;
  readonly grown: { readonly heap: number; readonly arrays: number };
  readonly keys: number;
}

/** A server, and a program with a limiter over it that does what it is told. */
async function startAbsentKeys(withinMs: number) {
  const server = await startRedisServer();
  const program = startProgram("absent-keys.mjs", { env: { REDIS_PORT: String(server.port) }, withinMs });
  const tell = async <T>(operation: string, rest: object = {}): Promise<T> => {
    program.send({ operation, ...rest });
    return ((await program.next()) as { readonly answer: T }).answer;
  };
  return { server, program, tell };
}

it("C10 b: very many keys while Redis is away cost bounded memory, no timer each, as much a call in the end as at first, and let nobody in early", {
  timeout: 180_000,
}, async () => {
  const { server, program, tell } = await startAbsentKeys(170_000);
  try {
    expect(await program.next()).toBe("ready");
    await server.kill();
    await tell("away");
    // As long as this the shares fill before anybody asks for them.
    await sleep(4000);
    const spent = await tell<Drained>("drain", { name: "refused", count: 500 });
    expect(Math.min(...spent.admitted)).toBeGreaterThanOrEqual(BURST);
    const owing = await tell<Drained>("drain", { name: "owing", count: 20, most: 8 });
    expect(owing.admitted).toEqual(Array.from({ length: 20 }, () => 8));

    const flood = await tell<Flooded>("flood", { name: "flood", count: KEYS });
    const { cpuUs, grown, slow } = flood;
    process.stderr.write(
      `C10 b: ${KEYS} keys, ${(grown.heap / MEGABYTE).toFixed(0)} MB of heap and ${(grown.arrays / MEGABYTE).toFixed(0)} MB ` +
        `beside it, ${cpuUs[0]?.toFixed(1)} us a call at first and ${cpuUs[9]?.toFixed(1)} at last, ${slow} above 1 ms\n`,
    );
    expect(flood.keys).toBeLessThanOrEqual(100_000);
    expect(grown.heap + grown.arrays).toBeLessThan(100 * MEGABYTE);
    expect(flood.mostTimers).toBeLessThanOrEqual(5);
    // One of the last parts, since a busy machine can make any one dear.
    expect(Math.min(...cpuUs.slice(-3))).toBeLessThan(1.5 * (cpuUs[0] as number));

    // All of them had to give way to others, and get what refill has brought since and no more.
    const again = await tell<Drained>("drain", { name: "refused", count: 500 });
    const refilled = Math.floor(((again.atMs - spent.atMs) / 1000) * REFILL_PER_SECOND) + 1;
    expect(Math.max(...again.admitted)).toBeLessThanOrEqual(refilled);

    await server.restart();
    const back = await tell<{ keys: number; heapUsed: number }>("back");
    expect(back.keys).toBeLessThanOrEqual(1);
    const told = await tell<{ remaining: number; tookMs: number }>("told", { key: "owing:0", full: BURST });
    process.stderr.write(`C10 b: told of what a key owes ${told.tookMs?.toFixed(0)} ms after shares are let go\n`);
    expect(told.remaining).toBeLessThan(BURST);
    await tell("close").catch(() => undefined);
  } finally {
    await server.stop();
  }
});

interface Heap {
  readonly heapUsed: number;
  readonly arrayBuffers: number;
}

it.runIf(IS_SOAK)(
  "C10 b: five idle minutes after them their memory is given back, though Redis is still away",
  {
    timeout: 500_000,
  },
  async () => {
    const { server, program, tell } = await startAbsentKeys(490_000);
    try {
      expect(await program.next()).toBe("ready");
      await server.kill();
      await tell("away");
      const before = await tell<Heap>("heap");
      const { grown } = await tell<Flooded>("flood", { name: "flood", count: KEYS });
      const after = await tell<Heap & { keys: number }>("idle", { forMs: 300_000 });
      const kept = { heap: after.heapUsed - before.heapUsed, arrays: after.arrayBuffers - before.arrayBuffers };
      process.stderr.write(
        `C10 b: of ${(grown.heap / MEGABYTE).toFixed(0)} and ${(grown.arrays / MEGABYTE).toFixed(0)} MB of ${KEYS} keys ` +
          `${(kept.heap / MEGABYTE).toFixed(0)} and ${(kept.arrays / MEGABYTE).toFixed(0)} are kept after five idle minutes\n`,
      );
      expect(after.keys).toBeLessThanOrEqual(1);
      expect(kept.heap).toBeLessThan(grown.heap / 4);
      await tell("close").catch(() => undefined);
    } finally {
      await server.stop();
    }
  },
);
