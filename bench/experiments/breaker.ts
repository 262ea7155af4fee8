// A dependency takes requests and answers none: how many calls hang with it, and how soon is it used again when it is back?
import type { ClientOptions } from "@spillway/client";
import { atMost, between, type Experiment, type Findings, type Lab, type LabPlot } from "./experiment.ts";
import { joined } from "./joined.ts";
import { hangOverSockets } from "./peers/hang-over-sockets.ts";
import { type HangResult, type HangSetting, runHang } from "./retries/hang.ts";

export const breaker: Experiment = {
  name: "breaker",
  asks: "how many calls hang with a dependency that hangs, how soon others fail, and when it is used again",
  run: async (lab) => joined([await breakerInVirtualTime(lab), await hangOverSockets(lab)]),
};

const HANG: HangSetting = { everyMs: 10, hangsFromMs: 5000, hangsToMs: 17_000, endMs: 30_000 };
const OPEN_S = 2;
const bare: ClientOptions = { retry: 0, budget: false, throttle: false, deadline: "10s" };

interface Case {
  readonly name: string;
  readonly client: ClientOptions;
  readonly seed: string;
}

const CASES: readonly Case[] = [
  { name: "no breaker, 10 s each", client: bare, seed: "1,000 stuck" },
  { name: "breaker, open for 2 s", client: { ...bare, breaker: { openFor: `${OPEN_S}s` } }, seed: "" },
  {
    name: "breaker, only a share of failures",
    client: { ...bare, breaker: { openFor: `${OPEN_S}s`, silence: "60s" } },
    seed: "",
  },
];

/** The real client on a virtual clock. */
export async function breakerInVirtualTime(_lab: Lab): Promise<Findings> {
  const results: HangResult[] = [];
  for (const { client } of CASES) results.push(await runHang(HANG, client));
  const [none, ours] = results as [HangResult, HangResult, HangResult];
  return {
    tables: [table(results)],
    plots: [plotOf(results)],
    marks: [
      between("calls that hang without a breaker", none.mostInFlight, 995, 1005),
      atMost("calls that hang with it", ours.mostInFlight, 60),
      atMost(
        "from the first answered probe to the closed breaker, in s",
        (ours.closedAfterMs ?? Number.POSITIVE_INFINITY) / 1000,
        2,
      ),
      // One probe may just have been sent, and may take as long as the breaker stays open; a tenth is added by chance.
      atMost(
        "from the end of the hang to that probe, in s",
        (ours.triedAfterMs ?? Number.POSITIVE_INFINITY) / 1000,
        2 * OPEN_S + OPEN_S / 10,
      ),
    ],
    summary: `Of 100 calls a second ${none.mostInFlight.toLocaleString("en-US")} hang with a dependency that hangs, ${ours.mostInFlight} with the breaker.`,
  };
}

function table(results: readonly HangResult[]): Findings["tables"][number] {
  const seconds = (ms: number | undefined): string => (ms === undefined ? "" : (ms / 1000).toFixed(2));
  return {
    caption: "100 calls a second for 30 s of a dependency that hangs from second 5 to second 17. Virtual time",
    columns: [
      "client",
      "calls",
      "served",
      "timed out",
      "refused at once",
      "most in flight",
      "tried after, s",
      "closed after, s",
      "the seed's",
    ],
    rows: CASES.map(({ name, seed }, index) => {
      const { calls, served, timedOut, refused, mostInFlight, triedAfterMs, closedAfterMs } = results[
        index
      ] as HangResult;
      return [
        name,
        calls,
        served,
        timedOut,
        refused,
        mostInFlight,
        seconds(triedAfterMs),
        seconds(closedAfterMs),
        seed,
      ];
    }),
  };
}

function plotOf(results: readonly HangResult[]): LabPlot {
  return {
    title: "Calls in flight while the dependency hangs (seconds 5 to 17)",
    xLabel: "time in s",
    yLabel: "calls in flight",
    series: CASES.map(({ name }, index) => ({
      name,
      points: (results[index] as HangResult).inFlight.map(([atMs, calls]) => [atMs / 1000, calls] as const),
    })),
  };
}
