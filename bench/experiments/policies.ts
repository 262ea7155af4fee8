// Users who ask too much of a service that sheds: which way of retrying serves most of them, and what does it add to the load?
import type { ClientOptions } from "@spillway/client";
import { atLeast, atMost, type Experiment, type Findings, type Lab, type LabPlot } from "./experiment.ts";
import { runUsers, SHEDDING_SERVER, type UsersOptions } from "./retries/users.ts";

export const policies: Experiment = {
  name: "policies",
  asks: "what each way of retrying adds to an overload of 2 and 4 times the capacity, and how many users it serves",
  run: policiesInVirtualTime,
};

const bare: ClientOptions = { budget: false, throttle: false };
const unhinted = { ...SHEDDING_SERVER, hint: "none" } as const;

interface Policy {
  readonly name: string;
  readonly client: ClientOptions;
  readonly server: UsersOptions["server"];
}

const POLICIES: readonly Policy[] = [
  { name: "no retries", client: { ...bare, retry: 0 }, server: unhinted },
  {
    name: "3 retries at once",
    client: { ...bare, retry: { limit: 3, backoffBase: 1, backoffLimit: 1 } },
    server: unhinted,
  },
  { name: "Retry-After, jitter, a budget", client: { throttle: false }, server: SHEDDING_SERVER },
  { name: "and asking less: as it is", client: {}, server: SHEDDING_SERVER },
  // Those that are only shown: they take longest.
  { name: "Retry-After and jitter, no budget", client: bare, server: SHEDDING_SERVER },
  { name: "asking less still (factor 1.1)", client: { throttle: { factor: 1.1 } }, server: SHEDDING_SERVER },
];
const [NONE, IMMEDIATE, BUDGET, POLITE] = [0, 1, 2, 3] as const;
const MARKED_POLICIES = POLICIES.slice(0, POLITE + 1);
const LOADS: readonly number[] = [1, 2, 3, 4];
const MARKED_LOADS: readonly number[] = [2, 4];

interface Row {
  readonly attempts: number;
  readonly served: number;
  readonly users: number;
}

/** The real client on a virtual clock, before a model of the service. */
export async function policiesInVirtualTime(lab: Lab): Promise<Findings> {
  const [seeds, secondsEach] = lab.quick ? [1, 12] : [3, 20];
  const tried = lab.quick ? MARKED_POLICIES : POLICIES;
  const loads = lab.quick ? MARKED_LOADS : LOADS;
  const rows: Row[][] = [];
  for (const policy of tried) {
    const row: Row[] = [];
    for (const load of loads) row.push(await mean(policy, load, seeds, secondsEach, lab.seed));
    rows.push(row);
  }
  const at = (policy: number, load: number): Row => rows[policy]?.[loads.indexOf(load)] as Row;
  const shareBehind = (load: number): number =>
    100 * (Math.max(...tried.map((_, policy) => at(policy, load).served)) - at(POLITE, load).served);
  const polite = at(POLITE, 4);
  return {
    tables: MARKED_LOADS.map((load) => ({
      caption: `${load} times the capacity of 62 a second for ${secondsEach} s, a line of 33, nobody waits above 0.3 s in it; mean of ${seeds} seeds, virtual time`,
      columns: ["policy", "users", "attempts per user", "served meanwhile", "of the capacity"],
      rows: tried.map(({ name }, policy) => {
        const { attempts, served, users } = at(policy, load);
        return [name, users, attempts, `${(100 * served).toFixed(1)} %`, `${(100 * served * load).toFixed(1)} %`];
      }),
    })),
    plots: [attemptsPlot(loads, rows)],
    marks: [
      // The reserve of ten retries is there besides the tenth.
      atMost(
        "attempts per user at twice the load with the budget, its reserve aside",
        at(BUDGET, 2).attempts - 10 / at(BUDGET, 2).users,
        1.1,
      ),
      atMost("attempts per user at twice the load, as it is", at(POLITE, 2).attempts, 0.95),
      atMost("attempts per user at four times the load, as it is", polite.attempts, 0.5),
      atMost("points that fewer users are served than by the best policy, at 2 times", shareBehind(2), 1),
      atMost("the same at 4 times", shareBehind(4), 1),
      atLeast("of the capacity is used when every user asks once, at 2 times", 2 * at(NONE, 2).served, 0.95),
    ],
    summary:
      `At four times the load the client as it is asks ${polite.attempts.toFixed(2)} times per user and serves ` +
      `${(100 * polite.served).toFixed(1)} % of them; three immediate retries ask ${at(IMMEDIATE, 4).attempts.toFixed(2)} times and serve ${(100 * at(IMMEDIATE, 4).served).toFixed(1)} %.`,
  };
}

async function mean({ client, server }: Policy, load: number, seeds: number, seconds: number, first: number) {
  const sum = { attempts: 0, served: 0, users: 0 };
  for (let seed = first; seed < first + seeds; seed++) {
    const { attemptsPerUser, servedMeanwhile, users } = await runUsers({ load, seconds, server, client, seed });
    sum.attempts += attemptsPerUser / seeds;
    sum.served += servedMeanwhile / seeds;
    sum.users += users / seeds;
  }
  return sum;
}

function attemptsPlot(loads: readonly number[], rows: readonly (readonly Row[])[]): LabPlot {
  return {
    title: "Requests per user, by how much more than the capacity is asked for",
    xLabel: "offered load, times the capacity",
    yLabel: "requests per user",
    series: POLICIES.slice(0, rows.length).map(({ name }, policy) => ({
      name,
      points: loads.map((load, i) => [load, rows[policy]?.[i]?.attempts ?? 0] as const),
    })),
    level: { value: 1, label: "one each" },
  };
}
