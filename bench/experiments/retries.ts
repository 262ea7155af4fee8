// What retries cost a service that is over its capacity, and one that is dead, beside what the seeds printed.
import type { ClientOptions } from "@spillway/client";
import { atMost, between, type Experiment, type Findings, type Lab } from "./experiment.ts";
import { joined } from "./joined.ts";
import { deadOverSockets } from "./peers/dead-over-sockets.ts";
import { type DeadResult, runDead } from "./retries/dead.ts";
import { runUsers, SHEDDING_SERVER, type UsersOptions, type UsersResult } from "./retries/users.ts";

export const retries: Experiment = {
  name: "retries",
  asks: "what retries add to the load of a service that is asked twice what it can do, and of one that is dead",
  run: async (lab) => joined([await retriesInVirtualTime(lab), await deadOverSockets(lab)]),
};

const bare: ClientOptions = { budget: false, throttle: false };
const DEAD_CALLS = 1000;
const unhinted = { ...SHEDDING_SERVER, hint: "none" } as const;

interface Policy {
  readonly name: string;
  readonly run: Pick<UsersOptions, "client" | "server">;
  readonly seed: string;
}

const POLICIES: readonly Policy[] = [
  {
    name: "no retries",
    run: { client: { ...bare, retry: 0 }, server: unhinted },
    seed: "783, 1.00, 50 %",
  },
  {
    name: "three tries at once",
    run: { client: { ...bare, retry: { limit: 2, backoffBase: 1, backoffLimit: 1 } }, server: unhinted },
    seed: "1,597, 2.04, 52 %",
  },
  {
    name: "Retry-After, jitter and a budget of a tenth",
    run: { client: { throttle: false }, server: SHEDDING_SERVER },
    seed: "864, 1.10, 53 %",
  },
  { name: "the client as it is", run: { client: {}, server: SHEDDING_SERVER }, seed: "" },
];

/** The real client on a virtual clock, before a model of the service. */
export async function retriesInVirtualTime({ seed }: Lab): Promise<Findings> {
  const users: UsersResult[] = [];
  for (const { run } of POLICIES) users.push(await runUsers({ ...run, load: 2.1, seconds: 6, seed }));
  const dead = {
    "3 retries each": await runDead(DEAD_CALLS, 10, bare, seed),
    "a budget of a tenth": await runDead(DEAD_CALLS, 10, { throttle: false }, seed),
    "the client as it is": await runDead(DEAD_CALLS, 10, {}, seed),
    "as it is, with the breaker": await runDead(DEAD_CALLS, 10, { breaker: true }, seed),
  };
  const [, immediate, budgeted, polite] = users as [UsersResult, UsersResult, UsersResult, UsersResult];
  return {
    tables: [overloadTable(users), deadTable(dead)],
    plots: [],
    marks: [
      between("attempts per user with three tries at once", immediate.attemptsPerUser, 1.9, 2.6),
      atMost("attempts per user with the budget, its reserve of ten aside", lessReserve(budgeted), 1.1),
      atMost("attempts per user of the client as it is", polite.attemptsPerUser, 1.1),
      atMost(
        "points that fewer users are served than with three tries at once",
        100 * (immediate.servedShare - polite.servedShare),
        1,
      ),
      between("retries of a dead service by 1,000 calls with 3 each", dead["3 retries each"].retries, 3000, 3000),
      atMost("with a budget of a tenth", dead["a budget of a tenth"].retries, 110),
      atMost("by the client as it is", dead["the client as it is"].retries, 110),
    ],
    summary:
      `1,000 calls of a dead service make ${dead["3 retries each"].retries.toLocaleString("en-US")} retries with three each, ` +
      `${dead["a budget of a tenth"].retries} with a budget of a tenth, and the client as it is sends ${dead["the client as it is"].requests} requests in all.`,
  };
}

function lessReserve({ attemptsPerUser, users }: UsersResult): number {
  return attemptsPerUser - 10 / users;
}

function overloadTable(results: readonly UsersResult[]): Findings["tables"][number] {
  return {
    caption:
      "130 users a second for 6 s before a service of 62 a second with a line of 33, 0.3 s of it at most. Virtual time",
    columns: ["policy", "users", "attempts", "per user", "served", "the seed's: attempts, per user, served"],
    rows: POLICIES.map(({ name, seed }, index) => {
      const { users, attemptsPerUser, servedShare } = results[index] as UsersResult;
      const attempts = Math.round(users * attemptsPerUser);
      return [name, users, attempts, attemptsPerUser, `${(100 * servedShare).toFixed(1)} %`, seed];
    }),
  };
}

function deadTable(dead: Readonly<Record<string, DeadResult>>): Findings["tables"][number] {
  const seeds: Readonly<Record<string, string>> = { "3 retries each": "3,000", "a budget of a tenth": "100" };
  return {
    caption: "1,000 calls, 100 a second, of a service that answers all of them with 503. Virtual time",
    columns: ["client", "requests", "retries", "the seed's retries"],
    rows: Object.entries(dead).map(([name, { requests, retries: made }]) => [name, requests, made, seeds[name] ?? ""]),
  };
}
