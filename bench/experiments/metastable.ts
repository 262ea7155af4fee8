// Part of slowdown: a service that is slow for a while, and callers who retry.
import type { AdmissionOptions } from "@spillway/admission";
import { atLeast, atMost, between, type Findings } from "./experiment.ts";
import { CAPACITY_PER_SECOND, ENDLESS, PATIENCE_MS, SLOTS, WORK_MS } from "./load/admissions.ts";
import { type ClientsResult, runClients } from "./load/virtual-clients.ts";
import { bySecond, type FloodResult, flood } from "./load/virtual-flood.ts";

function slowSpell(nowMs: number): number {
  return nowMs >= 5000 && nowMs < 10_000 ? 4 * WORK_MS : WORK_MS;
}

/** 0.8 of the capacity, of which a quarter is left for five seconds, and callers who retry three times. */
export async function metastable(): Promise<Pick<Findings, "tables" | "plots" | "marks">> {
  const seconds = 30;
  const perSecond = 0.8 * CAPACITY_PER_SECOND;
  const run = (admission: AdmissionOptions, isPolite?: boolean): Promise<FloodResult> =>
    flood({
      ...{ perSecond, seconds, patienceMs: PATIENCE_MS, admission: { slots: SLOTS, guessMs: WORK_MS, ...admission } },
      workMs: slowSpell,
      ...(isPolite === undefined ? {} : { retries: { limit: 3, isPolite } }),
    });
  const bare = await run(ENDLESS);
  const retrying = await run(ENDLESS, false);
  const budget = await run(ENDLESS, true);
  const ours = await run({}, true);
  // Callers who wait a second in all, and everything else as it is by default.
  const client = { deadline: PATIENCE_MS } as const;
  const clients = await runClients({
    perSecond,
    seconds,
    client,
    admission: { slots: SLOTS, guessMs: WORK_MS },
    workMs: slowSpell,
  });
  const perUser = ({ attempts, offered }: Pick<FloodResult, "attempts" | "offered">): number => attempts / offered;
  const row = (name: string, known: string, result: FloodResult): (string | number)[] => [
    ...[name, known, recovered(result, perSecond), perUser(result).toFixed(2), result.ok, result.wasted],
  ];
  return {
    tables: [
      {
        caption: "A service at 0.8 of its capacity that is four times slower from 5 to 10 s (virtual clock, 30 s)",
        columns: ["run", "whole again after, known", "whole again after", "attempts per user", "in time", "wasted"],
        rows: [
          row("none, no retries", "11 s", bare),
          row("none, three retries at once", "not in 20 s", retrying),
          row("none, a budget of a tenth", "not in 20 s", budget),
          row("ours, a budget of a tenth", "1 s", ours),
          ["ours, and our own client", "", recovered(clients, perSecond), perUser(clients).toFixed(2), clients.ok, ""],
        ],
      },
    ],
    plots: [
      {
        title: "Answers in time per second around a slow spell from 5 to 10 s",
        ...{ xLabel: "time in s", yLabel: "per second" },
        series: [
          bySecond("none", bare, seconds),
          bySecond("none, three retries", retrying, seconds),
          bySecond("ours, with a budget", ours, seconds),
        ],
        level: { value: perSecond, label: "offered" },
      },
    ],
    marks: [
      atMost("ours: whole again after so many s", recoverySeconds(ours, perSecond), 1),
      atMost("ours: attempts per user", perUser(ours), 1.05),
      atMost("ours, and our own client: whole again after so many s", recoverySeconds(clients, perSecond), 1),
      atMost("ours, and our own client: attempts per user", perUser(clients), 1.05),
      between("none, no retries: whole again after so many s", recoverySeconds(bare, perSecond), 9, 12),
      atLeast("none, three retries: whole again after so many s", recoverySeconds(retrying, perSecond), 20),
      atLeast("none, a budget: whole again after so many s", recoverySeconds(budget, perSecond), 20),
    ],
  };
}

function recovered(result: FloodResult | ClientsResult, perSecond: number): string {
  const seconds = recoverySeconds(result, perSecond);
  return seconds === Number.POSITIVE_INFINITY ? "not in 20 s" : `${seconds} s`;
}

/** From the end of the slow spell, at 10 s, to the first quarter from which on 99 % are answered in time. */
function recoverySeconds({ okByQuarter }: FloodResult | ClientsResult, perSecond: number): number {
  let first = 30 * 4;
  while (first > 40 && (okByQuarter[first - 1] ?? 0) >= (0.99 * perSecond) / 4) first--;
  return first === 30 * 4 ? Number.POSITIVE_INFINITY : (first - 40) / 4;
}
