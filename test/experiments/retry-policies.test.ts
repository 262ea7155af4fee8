import type { ClientOptions } from "@spillway/client";
import { describe, expect, it } from "vitest";
import { runHops } from "../../bench/experiments/retries/hops.ts";
import { runUsers, SHEDDING_SERVER, type UsersOptions } from "../../bench/experiments/retries/users.ts";

const SEEDS = [1, 2];
const bare: ClientOptions = { budget: false, throttle: false };
const policies = {
  none: { ...bare, retry: 0 },
  immediate: { ...bare, retry: { limit: 3, backoffBase: 1, backoffLimit: 1 } },
  budget: { throttle: false },
  polite: {},
} satisfies Record<string, ClientOptions>;

/** The mean over several seeds. */
async function mean(load: number, client: ClientOptions, changed: Partial<UsersOptions> = {}) {
  const runs = SEEDS.map((seed) => runUsers({ load, seconds: 12, server: SHEDDING_SERVER, client, seed, ...changed }));
  const results = await Promise.all(runs);
  const of = (pick: (result: (typeof results)[number]) => number): number =>
    results.reduce((sum, result) => sum + pick(result), 0) / results.length;
  return { attemptsPerUser: of((result) => result.attemptsPerUser), servedShare: of((result) => result.servedShare) };
}

describe("users who ask too much of a service that sheds", () => {
  it("make at most 1.1 attempts each at twice the load, and are served as many as by any other policy", async () => {
    const polite = await mean(2, policies.polite);
    const budget = await mean(2, policies.budget);
    const none = await mean(2, policies.none);
    expect(polite.attemptsPerUser).toBeLessThanOrEqual(0.95);
    // A tenth of the users, and the reserve of ten among some 1,500.
    expect(budget.attemptsPerUser).toBeLessThanOrEqual(1.1 + 10 / 1400);
    expect(polite.servedShare).toBeGreaterThan(Math.max(none.servedShare, budget.servedShare) - 0.01);
  });

  it("make at most half an attempt each at four times the load, and are served as many", async () => {
    const polite = await mean(4, policies.polite);
    const budget = await mean(4, policies.budget);
    expect(polite.attemptsPerUser).toBeLessThanOrEqual(0.5);
    expect(polite.servedShare).toBeGreaterThan(budget.servedShare - 0.01);
  });

  it("make more than two attempts each with three immediate retries, for nothing", async () => {
    const server = { ...SHEDDING_SERVER, hint: "none" } as const;
    const immediate = await mean(2, policies.immediate, { server, seconds: 4 });
    const none = await mean(2, policies.none, { server, seconds: 4 });
    expect(immediate.attemptsPerUser).toBeGreaterThan(2);
    expect(immediate.servedShare).toBeLessThan(none.servedShare + 0.03);
  });
});

describe("three hops over a bottom that fails", () => {
  const hops = { hops: 3, everyMs: 10, fails: () => true };

  it("multiply three retries each into 64 calls per user when each retries for itself", async () => {
    const client = { ...bare, headers: false } as const;
    expect(await runHops({ ...hops, users: 20, client, inherits: false })).toMatchObject({ callsPerUser: 64 });
  });

  it("make four where each works on behalf of the request that came, and no more than one in ten users with a budget", async () => {
    expect(await runHops({ ...hops, users: 20, client: bare, inherits: true })).toMatchObject({ callsPerUser: 4 });
    const { callsAtBottom } = await runHops({ ...hops, users: 1000, client: { throttle: false }, inherits: true });
    expect(callsAtBottom).toBeLessThanOrEqual(1000 + 100 + 10);
  });

  it("make at most 1.1 calls per user as they are by default", async () => {
    const { callsPerUser } = await runHops({ ...hops, users: 1000, client: {}, inherits: true });
    expect(callsPerUser).toBeLessThanOrEqual(1.1);
  });

  it("do no work past the user's deadline", async () => {
    const client = { ...bare, deadline: 25, retry: 0 } as const;
    const slow = { ...hops, users: 20, everyMs: 1000, client, inherits: true };
    expect(await runHops({ ...slow, workMs: 8, userDeadlineMs: 25 })).toMatchObject({
      callsAtBottom: 20,
      lateAtBottom: 0,
    });
    expect(await runHops({ ...slow, workMs: 13, userDeadlineMs: 25 })).toMatchObject({ callsAtBottom: 0 });
    expect(await runHops({ ...slow, workMs: 13, userDeadlineMs: 25, inherits: false })).toMatchObject({
      lateAtBottom: 20,
    });
  });
});
