// Services that call services, each with retries of its own: how often is the one at the bottom called for one user?
import type { ClientOptions } from "@spillway/client";
import { seededRandom } from "../simulator/random.ts";
import { atLeast, atMost, between, type Experiment, type Findings, type Lab, type LabPlot } from "./experiment.ts";
import { joined } from "./joined.ts";
import { stackOverSockets } from "./peers/stack-over-sockets.ts";
import { type HopsOptions, type HopsResult, runHops } from "./retries/hops.ts";

export const hops: Experiment = {
  name: "hops",
  asks: "how often the service at the bottom of a stack is called for one user when it fails",
  run: async (lab) => joined([await hopsInVirtualTime(lab), await stackOverSockets(lab)]),
};

const bare: ClientOptions = { budget: false, throttle: false };
/** Nothing is told to the next service, as a client that knows nothing of others does it. */
const alone: ClientOptions = { ...bare, headers: false, deadline: false };
const DEPTHS = [1, 2, 3, 4] as const;

interface Stack {
  readonly name: string;
  readonly options: Pick<HopsOptions, "client" | "inherits" | "users">;
}

const STACKS: readonly Stack[] = [
  { name: "3 retries in each", options: { client: alone, inherits: false, users: 20 } },
  { name: "on behalf of the caller", options: { client: bare, inherits: true, users: 20 } },
  { name: "and a budget of a tenth", options: { client: { throttle: false }, inherits: true, users: 1000 } },
  { name: "as it is", options: { client: {}, inherits: true, users: 1000 } },
];
/** The share of requests that a bottom fails which is not dead. */
const FLAKY = 0.05;
const SEED_CALLS = ["4", "16", "64", "256 (4 to the 4th)"];

/** The real clients of all services on one virtual clock. */
export async function hopsInVirtualTime(_lab: Lab): Promise<Findings> {
  const calls: number[][] = [];
  for (const { options } of STACKS) {
    const row: number[] = [];
    for (const depth of DEPTHS)
      row.push((await runHops({ ...options, hops: depth, everyMs: 10, fails: () => true })).callsPerUser);
    calls.push(row);
  }
  const flaky: HopsResult[] = [];
  const random = seededRandom(1);
  for (const { options } of STACKS)
    flaky.push(await runHops({ ...options, users: 1000, hops: 3, everyMs: 10, fails: () => random() < FLAKY }));
  const late = await lateWork();
  const at = (stack: number, depth: number): number => calls[stack]?.[depth - 1] as number;
  return {
    tables: [callsTable(calls), flakyTable(flaky), lateTable(late)],
    plots: [plotOf(calls)],
    marks: [
      ...[1, 2, 3].map((depth) =>
        between(`calls at the bottom of ${depth} hops, 3 retries in each`, at(0, depth), 4 ** depth, 4 ** depth),
      ),
      atMost("calls at the bottom of 3 hops, as it is", at(3, 3), 1.1),
      atMost("with the budget alone, its reserve of ten aside", at(2, 3) - 10 / 1000, 1.1),
      atLeast(
        "users served of a bottom that fails one in twenty, as it is, in percent",
        100 * (flaky[3]?.served ?? 0),
        99,
      ),
      atMost("calls at the bottom per user then", flaky[3]?.callsPerUser ?? 0, 1.1),
      atMost("calls that reach the bottom after the user's deadline", late.inherited.lateAtBottom, 0),
      between("of 20 when nobody tells the next", late.alone.lateAtBottom, 20, 20),
    ],
    summary: `Three layers with three retries each make ${at(0, 3)} calls at the bottom of one user's; as it is they make ${at(3, 3).toFixed(2)}.`,
  };
}

function flakyTable(results: readonly HopsResult[]): Findings["tables"][number] {
  return {
    caption: "1,000 users of 3 layers above a bottom that fails one request in twenty. Virtual time",
    columns: ["clients of the layers", "calls at the bottom per user", "served"],
    rows: STACKS.map(({ name }, index) => {
      const { callsPerUser, served } = results[index] as HopsResult;
      return [name, callsPerUser, `${(100 * served).toFixed(1)} %`];
    }),
  };
}

interface LateWork {
  readonly inherited: HopsResult;
  readonly alone: HopsResult;
}

/** Each of three services works for 13 ms before it calls the next one; the user waits 25. */
async function lateWork(): Promise<LateWork> {
  const client: ClientOptions = { ...bare, deadline: 25, retry: 0 };
  const slow = { hops: 3, users: 20, everyMs: 1000, client, fails: () => true, workMs: 13, userDeadlineMs: 25 };
  return {
    inherited: await runHops({ ...slow, inherits: true }),
    alone: await runHops({ ...slow, inherits: false }),
  };
}

function callsTable(calls: readonly (readonly number[])[]): Findings["tables"][number] {
  return {
    caption:
      "Calls at the bottom for one user, by the number of layers that may retry; the bottom fails all. Virtual time",
    columns: ["clients of the layers", ...DEPTHS.map(String)],
    rows: [
      ...STACKS.map(({ name }, index) => [name, ...(calls[index] as readonly number[])]),
      ["the seeds', 3 retries in each", ...SEED_CALLS],
    ],
  };
}

function lateTable({ inherited, alone: untold }: LateWork): Findings["tables"][number] {
  return {
    caption:
      "20 users who wait 25 ms; two services on the way work 13 ms each before they call the next one. Virtual time",
    columns: ["", "calls at the bottom", "of them too late"],
    rows: [
      ["nobody tells the next", untold.callsAtBottom, untold.lateAtBottom],
      ["the deadline is sent along", inherited.callsAtBottom, inherited.lateAtBottom],
    ],
  };
}

function plotOf(calls: readonly (readonly number[])[]): LabPlot {
  return {
    title: "Calls at the bottom for one user, by the number of layers",
    xLabel: "layers that may retry",
    yLabel: "calls",
    series: STACKS.map(({ name }, index) => ({
      name,
      points: DEPTHS.slice(0, 3).map((depth, i) => [depth, calls[index]?.[i] ?? 0] as const),
    })),
  };
}
