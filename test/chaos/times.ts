import { degradedIndices } from "./admissions.ts";
import type { FaultRun } from "./fault.ts";
import type { WorkerReport } from "./load-fleet.ts";

/** The columns that are only worth something on a quiet machine. */
export interface Times {
  /** Of all decisions, less the delay of the event loop. */
  readonly p999Ms: number;
  /** The same of those that a process made while it left the store alone; NaN when there were none. */
  readonly openP999Ms: number;
  readonly longestMs: number;
  /** From the end of the fault to the last decision that was made without the store. */
  readonly backMs: number;
}

/** So much sooner a client may learn of a node's successor than the last of the nodes. */
const MOVED_BEFORE_MS = 1_000;

export function timesOf({ keys: asked, reports, endedMs, nodeOf }: FaultRun): Times {
  // What is charged at two nodes waits for the other one.
  const ofTwo = new Set(asked.filter(({ common }) => common !== undefined).map(({ key }) => key));
  const netMs: number[] = [];
  const openMs: number[] = [];
  let lastMs = endedMs;
  for (const report of reports) {
    const { startedMs, tookMs, lateMs, keys, keyOf } = report.decisions;
    const nodes = keys.map((key) => (ofTwo.has(key) ? undefined : nodeOf(key)));
    const netOf = (i: number): number => Math.max(0, (tookMs[i] as number) - (lateMs[i] as number));
    for (let i = 0; i < startedMs.length; i++) netMs.push(netOf(i));
    const open = openSpans(report, endedMs);
    for (const i of degradedIndices(report.decisions)) {
      const fromMs = startedMs[i] as number;
      lastMs = Math.max(lastMs, fromMs);
      const node = nodes[keyOf[i] as number];
      if (open.some((span) => span.node === node && span.fromMs <= fromMs && fromMs < span.toMs)) openMs.push(netOf(i));
    }
  }
  return {
    p999Ms: percentile(netMs, 0.999),
    openP999Ms: percentile(openMs, 0.999),
    longestMs: percentile(netMs, 1),
    backMs: lastMs - endedMs,
  };
}

/** When a process left the store, or a node of it, alone. */
function openSpans({ changes }: WorkerReport, endedMs: number): { node: string; fromMs: number; toMs: number }[] {
  return changes.flatMap(({ state, node, atMs }, i) => {
    if (state !== "away") return [];
    const back = changes.slice(i).find((later) => later.state === "back" && later.node === node);
    // The keys of a cluster's node may have another one by the end of the fault.
    const movedMs = node === "" ? Number.POSITIVE_INFINITY : endedMs - MOVED_BEFORE_MS;
    const toMs = Math.min(back?.atMs ?? Number.POSITIVE_INFINITY, movedMs);
    return { node, fromMs: atMs, toMs };
  });
}

/** NaN of nothing. */
function percentile(values: number[], part: number): number {
  values.sort((a, b) => a - b);
  return values[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}
