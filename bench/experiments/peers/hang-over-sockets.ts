import { atMost, type Findings, type Lab } from "../experiment.ts";
import { BREAKER_NAMES, type BreakerName } from "./library-names.ts";
import { inParallel, type PeerRun, runPeers } from "./peer-process.ts";

const EVERY_MS = 10;
const OPEN_MS = 2000;
/** A call that fails sooner was not sent, or was answered with an error: nobody waits for it. */
const AT_ONCE_MS = 1000;
const WITHIN_MS = 120_000;
const OURS: BreakerName = "@spillway/client";

interface Times {
  readonly hangsFromMs: number;
  readonly hangsToMs: number;
  readonly endMs: number;
}

/** The same over real sockets, beside other breakers that are told to stay open as long. */
export async function hangOverSockets({ quick, say }: Lab): Promise<Findings> {
  const times = quick
    ? { hangsFromMs: 1000, hangsToMs: 4000, endMs: 9000 }
    : { hangsFromMs: 3000, hangsToMs: 14_000, endMs: 24_000 };
  const breakers = quick ? [OURS] : BREAKER_NAMES;
  const runOne = async (breaker: BreakerName): Promise<PeerRun> => {
    say(`  ${breaker}, a service that hangs`);
    const ask = { ask: "hang", breaker, openMs: OPEN_MS, calls: times.endMs / EVERY_MS, everyMs: EVERY_MS } as const;
    return runPeers({ ask: "listen", service: "hanging", hang: times }, (url) => ({ ...ask, url }), WITHIN_MS);
  };
  // Ours first and alone: its fast failures are timed.
  const ours = await runOne(OURS);
  const theirs = await inParallel(
    breakers.length,
    breakers.filter((name) => name !== OURS),
    async (name) => [name, await runOne(name)] as const,
  );
  const runs = new Map<BreakerName, PeerRun>([[OURS, ours], ...theirs]);
  return {
    tables: [table(runs, times)],
    plots: [],
    marks: [
      atMost("calls of ours in flight, over sockets", ours.mostInFlight, 60),
      atMost("those it refuses fail after, p99 in ms", failFastP99Ms(ours) ?? Number.POSITIVE_INFINITY, 5),
      atMost(
        "from the end of the hang to calls that are served again, in s",
        (servedAgainMs(ours, times) ?? Number.POSITIVE_INFINITY) / 1000,
        // A probe may just have been sent, and then it is open once more, up to a tenth longer.
        (2.1 * OPEN_MS) / 1000 + 0.5,
      ),
    ],
    summary: `Over sockets ${ours.mostInFlight} of ours.`,
  };
}

function table(runs: ReadonlyMap<BreakerName, PeerRun>, times: Times): Findings["tables"][number] {
  const seconds = (ms: number): string => (ms / 1000).toFixed(0);
  return {
    caption: `100 calls a second for ${seconds(times.endMs)} s over real sockets; the service hangs from second ${seconds(times.hangsFromMs)} to ${seconds(times.hangsToMs)}. Calls wait 10 s at most, breakers stay open for ${seconds(OPEN_MS)} s, else as by default`,
    columns: ["client", "served", "failed", "at once", "p99 of these, ms", "most in flight", "served again after, s"],
    rows: [...runs].map(([name, run]) => {
      const again = servedAgainMs(run, times);
      return [
        name,
        run.servedMs.length,
        run.failedMs.length,
        run.failedAfterMs.filter((ms) => ms < AT_ONCE_MS).length,
        failFastP99Ms(run)?.toFixed(2) ?? "",
        run.mostInFlight,
        again === undefined ? "never" : (again / 1000).toFixed(2),
      ];
    }),
  };
}

function failFastP99Ms({ failedAfterMs }: PeerRun): number | undefined {
  const fast = failedAfterMs.filter((ms) => ms < AT_ONCE_MS).toSorted((a, b) => a - b);
  return fast[Math.floor(fast.length * 0.99)];
}

function servedAgainMs({ servedMs }: PeerRun, { hangsToMs }: Times): number | undefined {
  const first = servedMs.find((ms) => ms >= hangsToMs);
  return first === undefined ? undefined : first - hangsToMs;
}
