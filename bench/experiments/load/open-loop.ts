import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { type Arrivals, arrivalsOf, type Phase } from "./arrivals.ts";
import { type LoadBin, LoadTally, type PhaseResult } from "./load-tally.ts";
import { OneUser, type Retries } from "./one-user.ts";

/** Requests at times that are set beforehand, whatever becomes of earlier ones. */
export interface LoadPlan {
  readonly url: string;
  readonly phases: readonly Phase[];
  /** How long a caller waits for an answer. */
  readonly patienceMs: number;
  /** Whether a caller who gives up closes the connection; else a late answer is waited for and counted. Defaults to true. */
  readonly hangsUp?: boolean;
  /** What a caller does about a refusal or a timeout. Defaults to nothing. */
  readonly retries?: Retries;
  /** Arrivals at random by this seed, in place of evenly spread ones. */
  readonly seed?: number;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Connections at the same time at most. Beyond it a request fails, so that nothing queues here. Defaults to no bound. */
  readonly mostConnections?: number;
  /** Whether connections are used again. Defaults to true. */
  readonly keepsConnections?: boolean;
  /** Connections of somebody else's, which are left to them. Defaults to own ones. */
  readonly agent?: HttpAgent;
  /** Ends the run early: nothing more is sent, and callers give up at once. */
  readonly signal?: AbortSignal;
}

export interface LoadResult {
  readonly phases: readonly PhaseResult[];
  readonly bins: readonly LoadBin[];
  /** How late requests were sent at the 99th percentile, in ms: what the generator itself adds. */
  readonly lateSendP99Ms: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  readonly wasEndedEarly: boolean;
}

/** What the callers of one run share. */
export interface LoadRun {
  readonly plan: LoadPlan;
  readonly url: URL;
  readonly agent: HttpAgent;
  readonly tally: LoadTally;
  /** When it began, on `performance.now()`. */
  readonly startMs: number;
  /** Requests under way. */
  readonly open: { count: number };
}

/** Offers the load and counts what becomes of it. Returns when the last caller has an answer or has given up. */
export async function offerLoad(plan: LoadPlan): Promise<LoadResult> {
  const { phases, seed, signal } = plan;
  const arrivals = arrivalsOf(phases, seed);
  const tally = new LoadTally(phases);
  const startMs = performance.now();
  const url = new URL(plan.url);
  const run: LoadRun = { plan, url, agent: plan.agent ?? agentFor(plan), tally, startMs, open: { count: 0 } };
  const users = new Set<OneUser>();
  const giveUp = (): void => {
    for (const user of users) user.giveUp();
  };
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve) => {
      sendAll(plan, arrivals, startMs, (index, nowMs) => {
        if (index === undefined) {
          whenEmpty(users, resolve);
          return;
        }
        const [phase, dueMs] = [arrivals.phaseOf[index] as number, arrivals.dueMs[index] as number];
        tally.offer(phase, dueMs, nowMs);
        const user = new OneUser(run, phase, dueMs, () => users.delete(user));
        users.add(user);
        user.start();
      });
    });
  } finally {
    signal?.removeEventListener("abort", giveUp);
    if (plan.agent === undefined) run.agent.destroy();
  }
  return {
    ...{ phases: tally.phases(), bins: tally.bins },
    lateSendP99Ms: p99(tally.lateSendsMs()),
    seconds: (performance.now() - startMs) / 1000,
    wasEndedEarly: signal?.aborted === true,
  };
}

/** Calls `send` with the index of each request when it is due, and without one when there are no more. */
function sendAll(
  { signal }: LoadPlan,
  { dueMs }: Arrivals,
  startMs: number,
  send: (index: number | undefined, nowMs: number) => void,
): void {
  let next = 0;
  const sendDue = (): void => {
    for (;;) {
      const nowMs = performance.now() - startMs;
      if (next >= dueMs.length || signal?.aborted === true) {
        send(undefined, nowMs);
        return;
      }
      const restMs = (dueMs[next] as number) - nowMs;
      // A timer fires up to a millisecond late. The turn that is closest is taken.
      if (restMs > 0.5) {
        setTimeout(sendDue, Math.max(1, Math.min(restMs, 100)));
        return;
      }
      send(next++, nowMs);
    }
  };
  sendDue();
}

function whenEmpty(users: ReadonlySet<OneUser>, then: () => void): void {
  const look = (): void => {
    if (users.size === 0) then();
    else setTimeout(look, 5);
  };
  look();
}

export function agentFor({ url, keepsConnections = true }: Pick<LoadPlan, "url" | "keepsConnections">): HttpAgent {
  const options = { keepAlive: keepsConnections, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 100_000 };
  return new URL(url).protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
}

function p99(sorted: Float64Array): number {
  return sorted[Math.floor(0.99 * sorted.length)] ?? 0;
}
