import { degradedIndices } from "./admissions.ts";
import type { FaultRun } from "./fault.ts";
import type { WorkerReport } from "./load-fleet.ts";
import { SHAPES } from "./load-shapes.ts";
import { type Expectation, LEAST_USED, MARKS } from "./marks.ts";
import type { Times } from "./times.ts";
import type { Usage } from "./usage.ts";

/** What is wrong in itself, whatever the fault and the machine. */
export function wrongOutcomes({ reports, lastingKeys, areBack }: FaultRun): string[] {
  const wrong = lastingKeys.map((key) => `${key} has no expiry`);
  if (!areBack) wrong.push("a process still leaves the store alone");
  for (const { decisions, crashes, warnings, storeErrors } of reports) {
    wrong.push(...decisions.malformed, ...decisions.failures, ...crashes, ...warnings);
    wrong.push(...storeErrors.filter((message) => message.includes("CROSSSLOT")));
    for (let i = 0; i < decisions.unanswered; i++) wrong.push("a decision never came");
  }
  return wrong;
}

/** Calls that were waited for in vain. */
export function missedTooOften({ reports }: FaultRun, { callsAtOnce = 1, faults = 1 }: Expectation): string[] {
  return reports.flatMap(({ process, changes, missed }) => {
    // One that is over before it is noticed may cost calls, too.
    const times = Math.max(1, timesAway(changes)) + faults - 1;
    const most = MARKS.missed * callsAtOnce * times;
    return missed <= most ? [] : `process ${process} missed ${missed} calls; the mark is ${most}`;
  });
}

function timesAway(changes: WorkerReport["changes"]): number {
  return changes.filter(({ state }) => state === "away").length;
}

/** What a busy machine can bring about too: a store that is kept from running is as good as away. */
export function wrongAbsences({ reports, beganMs }: FaultRun, expectation: Expectation): string[] {
  const { absences, onlyOf } = expectation;
  return reports.flatMap(({ process, changes, decisions }) => {
    const found: string[] = [];
    const meant = onlyOf === undefined || onlyOf.includes(process) ? absences : 0;
    const away = timesAway(changes);
    if (meant !== "any" && away !== meant)
      found.push(`process ${process} was away ${away} times, not ${meant}: ${storyOf(changes, beganMs)}`);
    const { degraded = meant === 1 ? "some" : meant === 0 ? "none" : "perhaps" } = expectation;
    const count = degradedIndices(decisions).length;
    if (degraded === "none" && count > 0) found.push(`${count} decisions of process ${process} without the store`);
    if (degraded === "some" && count === 0) found.push(`no decision of process ${process} without the store`);
    return found;
  });
}

function storyOf(changes: WorkerReport["changes"], beganMs: number): string {
  return changes
    .map(({ state, atMs, reason }) => `${state} at ${(atMs - beganMs).toFixed(0)} ms (${reason})`)
    .join("; ");
}

export function tooLate({ p999Ms, openP999Ms, backMs }: Times): string[] {
  const found: string[] = [];
  if (!(p999Ms <= MARKS.p999Ms)) found.push(`p99.9 of ${p999Ms.toFixed(1)} ms; the mark is ${MARKS.p999Ms}`);
  if (openP999Ms > MARKS.openP999Ms)
    found.push(`p99.9 of ${openP999Ms.toFixed(2)} ms once open; the mark is ${MARKS.openP999Ms}`);
  if (!(backMs <= MARKS.backMs)) found.push(`back after ${backMs.toFixed(0)} ms; the mark is ${MARKS.backMs}`);
  return found;
}

export function tooLittleUsed(used: Usage, { silent, leastUsed = silent ? LEAST_USED : {} }: Expectation): string[] {
  return SHAPES.flatMap((shape) => {
    const [part, least] = [used[shape], leastUsed[shape]];
    if (part === undefined || least === undefined || part >= least) return [];
    return `${percent(part)} of r x T used with ${shape} load; the mark is ${percent(least)}`;
  });
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}
