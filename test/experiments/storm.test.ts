import { describe, expect, it } from "vitest";
import { runStorm, STORM_SERVER, type StormOptions, type StormResult } from "../../bench/experiments/retries/storm.ts";

/** Jitter and waits alone: nothing else of the client takes part. */
const bare = { budget: false, throttle: false, deadline: false } as const;
const storm = (changed: Partial<StormOptions>): Promise<StormResult> =>
  runStorm({ clients: 400, server: STORM_SERVER, client: {}, seed: 1, ...changed });
const SEEDS = [1, 2, 3];

describe("400 clients at once, of which 24 go in", () => {
  it("come back in lockstep without jitter, in 17 waves and more over about a minute", async () => {
    const result = await storm({ client: { ...bare, retry: { limit: 100, jitter: "none" } } });
    expect(result.failures).toBe(0);
    expect(result.attempts).toBeGreaterThanOrEqual(3323);
    expect(result.attempts).toBeLessThanOrEqual(3950);
    expect(result.lastDoneMs).toBeGreaterThan(52_000);
    expect(result.lastDoneMs).toBeLessThan(65_000);
    expect(result.densestAfterFirst).toBeGreaterThan(370);
  });

  it("need at most 2,400 attempts and 7.6 s with full jitter alone, over three seeds", async () => {
    const client = { ...bare, retry: { limit: 100 } };
    const results = await Promise.all(SEEDS.map((seed) => storm({ client, seed })));
    expect(results.every(({ failures }) => failures === 0)).toBe(true);
    expect(median(results.map(({ attempts }) => attempts))).toBeLessThanOrEqual(2400);
    expect(median(results.map(({ lastDoneMs }) => lastDoneMs))).toBeLessThanOrEqual(7600);
  });

  it("need half as many when all are told one second, since none comes back at that second", async () => {
    const result = await storm({
      client: { ...bare, retry: { limit: 100 } },
      server: { ...STORM_SERVER, hint: "second" },
    });
    expect(result.failures).toBe(0);
    expect(result.attempts).toBeLessThan(1300);
    expect(result.densestAfterFirst).toBeLessThan(50);
  });

  it.each(SEEDS)(
    "all succeed by their second attempt when each is told its slot, as soon as they can (seed %d)",
    async (seed) => {
      const result = await storm({ server: { ...STORM_SERVER, hint: "slots" }, seed });
      expect(result.failures).toBe(0);
      expect(result.attemptsPerClient).toBeLessThanOrEqual(2);
      expect(result.lastDoneMs).toBeLessThanOrEqual(1.03 * result.idealMs);
    },
  );
});

it.each(SEEDS)("400 clients at once do as well before our own admission control (seed %d)", async (seed) => {
  const result = await storm({ admission: true, seed });
  expect(result.failures).toBe(0);
  expect(result.attemptsPerClient).toBeLessThanOrEqual(2);
  expect(result.lastDoneMs).toBeLessThanOrEqual(1.03 * result.idealMs);
});

it("2,000 clients at once do as well with slots", async () => {
  const result = await storm({
    clients: 2000,
    server: { ...STORM_SERVER, hint: "slots" },
    client: { deadline: "60s" },
  });
  expect(result.failures).toBe(0);
  expect(result.attemptsPerClient).toBeLessThanOrEqual(2);
  expect(result.lastDoneMs).toBeLessThanOrEqual(1.03 * result.idealMs);
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
