import type { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { agentFor, type LoadResult, offerLoad } from "../experiments/load/open-loop.ts";
import type { FloodOptions } from "./options.ts";

/** What a service answers in time when callers ask again as soon as they are answered. */
export interface ProbedCapacity {
  readonly perSecond: number;
  readonly concurrency: number;
}

/** Nothing came back that could be measured. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
}

const PROBE_SECONDS = 3;
const PATIENCE_MS = 10_000;
/** Who is turned away does not ask again at once: refusals would be what is measured. */
const REFUSED_PAUSE_MS = 20;
const FIRST_PATIENCE_MS = 5000;

/** Asks once. @throws NoAnswerError where nothing answers. */
export async function requireAnswer(options: FloodOptions, signal: AbortSignal): Promise<void> {
  const [phase] = (await askOnce(options, undefined, FIRST_PATIENCE_MS, signal)).phases;
  const [what = "nothing"] = Object.keys(phase?.answers ?? {});
  if (/^\d+$/.test(what) || signal.aborted) return;
  const reason = what === "timeout" ? `no answer within ${FIRST_PATIENCE_MS / 1000} s` : what;
  throw new NoAnswerError(`Nothing answers at ${options.url}: ${reason}.`);
}

/** @throws NoAnswerError where nothing is answered in the 200s. */
export async function probeCapacity(options: FloodOptions, signal: AbortSignal): Promise<ProbedCapacity> {
  const { concurrency } = options;
  const untilMs = performance.now() + PROBE_SECONDS * 1000;
  const doneMs: number[] = [];
  const agent = agentFor(options);
  const seen: Record<string, number> = {};
  const caller = async (): Promise<void> => {
    while (performance.now() < untilMs && !signal.aborted) {
      const [phase] = (await askOnce(options, agent, PATIENCE_MS, signal)).phases;
      if (phase?.served === 1) doneMs.push(performance.now());
      else await sleep(REFUSED_PAUSE_MS);
      for (const what of Object.keys(phase?.answers ?? {})) seen[what] = (seen[what] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  agent.destroy();
  const within = doneMs.filter((ms) => ms <= untilMs);
  // From one answer to another: what is under way at the end would make it look faster.
  const first = Math.min(concurrency, within.length - 1);
  const spanMs = (within.at(-1) ?? 0) - (within[first - 1] ?? 0);
  if (within.length < 2 || spanMs <= 0) {
    if (signal.aborted) return { perSecond: 0, concurrency };
    const what = Object.entries(seen).map(([status, count]) => `${count} x ${status}`);
    throw new NoAnswerError(
      `Too few answers in the 200s to measure what ${options.url} can do (${what.join(", ") || "none"}). Give it a --rate, or fewer --concurrency.`,
    );
  }
  return { perSecond: ((within.length - first) / spanMs) * 1000, concurrency };
}

function askOnce(
  options: FloodOptions,
  agent: Agent | undefined,
  patienceMs: number,
  signal: AbortSignal,
): Promise<LoadResult> {
  const { url, method, headers, body, keepsConnections } = options;
  return offerLoad({
    ...{
      url,
      method,
      headers,
      patienceMs,
      signal,
      keepsConnections,
      phases: [{ name: "probe", perSecond: 1, seconds: 1 }],
    },
    ...(body === undefined ? {} : { body }),
    ...(agent === undefined ? {} : { agent }),
  });
}
