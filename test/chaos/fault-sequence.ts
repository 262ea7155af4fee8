import { LeaseRandom } from "../model/lease-random.ts";
import { PROCESSES, pause, type Scene } from "./fault.ts";
import type { Standalone } from "./stage.ts";

/** A fault of a sequence: how it begins, and what ends it. */
interface Act {
  begin(scene: Scene<Standalone>, step: Step): Promise<unknown> | unknown;
  end?(scene: Scene<Standalone>, step: Step): Promise<unknown> | unknown;
  /** Whether the store comes back without what it knew. */
  readonly forgets?: boolean;
}

/** One fault of a sequence. */
export interface Step {
  readonly act: string;
  /** Which process it is done to, where it is done to one. */
  readonly process: number;
  readonly lastsMs: number;
  /** Until the next one begins. */
  readonly pauseMs: number;
}

const ACTS: Readonly<Record<string, Act>> = {
  "Redis stopped": { begin: ({ server }) => server.pause(), end: ({ server }) => server.resume() },
  "Redis killed": { begin: ({ server }) => server.kill(), end: ({ server }) => server.restart(), forgets: true },
  "clients paused": { begin: ({ admin }, { lastsMs }) => admin.client("PAUSE", Math.ceil(lastsMs), "ALL") },
  "scripts flushed": { begin: ({ admin }) => admin.script("FLUSH") },
  "turned into a replica": {
    begin: ({ admin }) => admin.replicaof("127.0.0.1", "1"),
    end: ({ admin }) => admin.replicaof("NO", "ONE"),
  },
  "without room": {
    begin: ({ admin }) => admin.config("SET", "maxmemory", "1mb", "maxmemory-policy", "noeviction"),
    end: ({ admin }) => admin.config("SET", "maxmemory", "0"),
  },
  "replies lost": { begin: ({ proxy }) => proxy.swallowReplies(), end: ({ proxy }) => proxy.resume() },
  "all dropped": { begin: ({ proxy }) => proxy.halfOpen(), end: ({ proxy }) => proxy.resume() },
  "network stalled": { begin: ({ proxy }) => proxy.stall(), end: ({ proxy }) => proxy.resume() },
  "network cut": { begin: ({ proxy }) => proxy.cut(), end: ({ proxy }) => proxy.mend() },
  "network slow": { begin: ({ proxy }) => proxy.delay(100), end: ({ proxy }) => proxy.delay(0) },
  "connections stranded": { begin: ({ proxy }) => proxy.strand() },
  "reply cut off": { begin: ({ proxy }) => proxy.cutAfterExecution(1, "EVALSHA") },
  "process stopped": {
    begin: ({ fleet }, { process }) => fleet.signal(process, "SIGSTOP"),
    end: ({ fleet }, { process }) => fleet.signal(process, "SIGCONT"),
  },
  "event loop busy": {
    begin({ fleet }, { process, lastsMs }) {
      void fleet.block(process, lastsMs);
    },
  },
};

const LONGEST_FAULT_MS = 2_500;
const LONGEST_PAUSE_MS = 1_500;

/** Faults one after another that a seed repeats, until `withinMs` are full. */
export function sequenceOf(seed: number, withinMs: number): Step[] {
  const random = new LeaseRandom(seed);
  const steps: Step[] = [];
  for (let leftMs = withinMs; ; ) {
    const step = {
      act: random.pick(Object.keys(ACTS)),
      process: random.whole(0, PROCESSES - 1),
      // Short ones end before anybody is sure.
      lastsMs: random.chance(0.3) ? random.whole(20, 200) : random.whole(200, LONGEST_FAULT_MS),
      pauseMs: random.chance(0.3) ? 0 : random.whole(0, LONGEST_PAUSE_MS),
    };
    leftMs -= step.lastsMs + step.pauseMs;
    if (leftMs < 0) return steps;
    steps.push(step);
  }
}

export async function playSequence(scene: Scene<Standalone>, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const act = ACTS[step.act] as Act;
    await act.begin(scene, step);
    await pause(step.lastsMs);
    await act.end?.(scene, step);
    await pause(step.pauseMs);
  }
}

/** How often the store comes back without what it knew. */
export function timesForgotten(steps: readonly Step[]): number {
  return steps.filter(({ act }) => ACTS[act]?.forgets).length;
}

/** For people, and for a replay by hand. */
export function storyOf(steps: readonly Step[]): string {
  return steps
    .map(({ act, process, lastsMs, pauseMs }) => {
      const which = /process|event loop/.test(act) ? ` (process ${process})` : "";
      return `${act}${which} ${lastsMs} ms, pause ${pauseMs} ms`;
    })
    .join("; ");
}
