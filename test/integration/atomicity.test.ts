import { commandCalls } from "@spillway/testkit";
import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";
import { startProgram } from "../support/run-program.ts";

const redis = redisFixture();

const admitted = (decisions: readonly Decision[]): Decision[] => decisions.filter(({ allowed }) => allowed);
const remainders = (decisions: readonly Decision[]): number[] =>
  admitted(decisions)
    .map(({ remaining }) => remaining)
    .sort((a, b) => b - a);
const countdown = (from: number): number[] => Array.from({ length: from }, (_, index) => from - 1 - index);

/** Scripts that the server was asked to run. */
async function scriptCalls(): Promise<number> {
  const calls = await commandCalls(redis.client);
  return (calls.get("evalsha") ?? 0) + (calls.get("eval") ?? 0);
}

describe("C25 a: 200 concurrent consumes of a key with 100", () => {
  it("from one process are 100 admissions, each told what was left at its own turn, in at most three script calls", async () => {
    const limiter = redis.limiter({ policies: { name: "hundred", limit: 100, period: "1m" }, lease: false });
    await limiter.consume("somebody else");
    await redis.client.config("RESETSTAT");
    const callsBefore = limiter.stats().storeCalls;
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume("k")));
    expect(limiter.stats().storeCalls - callsBefore).toBeLessThanOrEqual(3);
    // Now and then a process says that it is at work: one call more.
    expect(await scriptCalls()).toBeLessThanOrEqual(4);
    expect(remainders(decisions)).toEqual(countdown(100));
    expect(decisions.map(({ source }) => source)).not.toContain("backstop");
    for (const { allowed, remaining } of decisions) if (!allowed) expect(remaining).toBe(0);
  });

  it.each(["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"])(
    "from two processes are 100 admissions with 99 to 0 left, once each (%s)",
    async (algorithm) => {
      const env = { REDIS_PORT: String(redis.server.port), ALGORITHM: algorithm };
      const programs = [startProgram("consume-burst.mjs", { env }), startProgram("consume-burst.mjs", { env })];
      for (const program of programs) expect(await program.next()).toBe("ready");
      for (const program of programs) program.send({ go: true });
      const decisions = (await Promise.all(programs.map((program) => program.next()))).flat() as Decision[];
      expect(decisions).toHaveLength(200);
      expect(remainders(decisions)).toEqual(countdown(100));
      for (const { code, errors } of await Promise.all(programs.map(({ ended }) => ended)))
        expect([code, errors]).toEqual([0, ""]);
    },
  );

  it("with leases are 100 admissions as well", async () => {
    const limiter = redis.limiter({ policies: { name: "hundred", limit: 100, period: "1m" } });
    const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume("k")));
    expect(admitted(decisions)).toHaveLength(100);
  });
});

it.each(["token-bucket", "fixed-window", "sliding-window-counter", "sliding-window-log"] as const)(
  "mixed costs of one turn are served in order, each whole, and each is told its own remainder (%s)",
  async (algorithm) => {
    const limiter = redis.limiter({ policies: { name: "ten", limit: 10, period: "1h", algorithm }, lease: false });
    const costs = [3, 3, 5, 2, 2, 1, 1, 1];
    const decisions = await Promise.all(costs.map((cost) => limiter.consume("k", { cost })));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, true, true, false, false, false]);
    expect(admitted(decisions).map(({ remaining }) => remaining)).toEqual([7, 4, 2, 0]);
  },
);

describe("C25 b: one key with 10 per minute and 30 per 30 minutes", () => {
  it.each([
    ["token-bucket", "fixed-window"],
    ["sliding-window-counter", "sliding-window-log"],
    ["sliding-window-log", "token-bucket"],
    ["fixed-window", "sliding-window-counter"],
  ] as const)("charges the long policy for admitted calls only (%s and %s)", async (short, long) => {
    const limiter = redis.limiter({
      lease: false,
      policies: [
        { name: "short", limit: 10, period: "1m", algorithm: short },
        { name: "long", limit: 30, period: "30m", algorithm: long },
      ],
    });
    const decisions = [];
    for (let i = 0; i < 31; i++) decisions.push(await limiter.consume("k"));
    expect(admitted(decisions)).toHaveLength(10);
    const { policies } = await limiter.peek("k");
    expect(policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ["short", 0],
      ["long", 20],
    ]);
  });

  it("does so for calls at the same time and for calls of several processes", async () => {
    const policies = [
      { name: "short", limit: 10, period: "1m" },
      { name: "long", limit: 30, period: "30m" },
    ] as const;
    const limiters = [redis.limiter({ policies, lease: false }), redis.limiter({ policies, lease: false })];
    const decisions = await Promise.all(
      Array.from(
        { length: 62 },
        (_, index) => (index % 2 ? limiters[0] : limiters[1])?.consume("k") as Promise<Decision>,
      ),
    );
    expect(admitted(decisions)).toHaveLength(10);
    const left = (await limiters[0]?.peek("k"))?.policies.map(({ remaining }) => remaining);
    expect(left).toEqual([0, 20]);
  });
});

it("C25 c: a refusal by a caller's own limit takes nothing from the limit that all share, from two processes too", async () => {
  const policies = [
    { name: "user", limit: 1, period: "1m" },
    { name: "shared", limit: 10, period: "1m" },
  ] as const;
  const limiters = [redis.limiter({ policies, lease: false }), redis.limiter({ policies, lease: false })] as const;
  const ask = (from: 0 | 1, key: string): Promise<Decision> =>
    limiters[from].consume([
      { policy: "user", key },
      { policy: "shared", key: "everybody" },
    ]);
  const greedy = await Promise.all(Array.from({ length: 20 }, (_, i) => ask((i % 2) as 0 | 1, "greedy")));
  expect(admitted(greedy)).toHaveLength(1);
  expect(await ask(1, "modest")).toMatchObject({ allowed: true });
  expect((await limiters[0].peek("everybody")).policies[1]?.remaining).toBe(8);
});

it.each([
  ["exact", false],
  ["with leases", { maxDrainMs: 50 }],
] as const)(
  "a key whose policies change from call to call in one turn has one bucket all the same (%s)",
  async (_, lease) => {
    const tiers = [
      { name: "five", limit: 5, period: "1h" },
      { name: "five", limit: 5, period: "2h" },
    ] as const;
    let calls = 0;
    const limiter = redis.limiter({ policies: () => tiers[calls++ % 2] as (typeof tiers)[number], lease });
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("k")));
    expect(admitted(decisions)).toHaveLength(5);
  },
);
