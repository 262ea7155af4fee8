import { atMost, type Findings, type Lab } from "../experiment.ts";
import { LIBRARY_NAMES, type LibraryName } from "./library-names.ts";
import { inParallel, type PeerRun, runPeers } from "./peer-process.ts";

const LAYERS = 3;
const FEW = { calls: 5, everyMs: 100 };
const MANY = { calls: 1000, everyMs: 10 };
const WITHIN_MS = 120_000;
/** At its own waits it would take ten minutes. */
const HASTY: LibraryName = "undici RetryAgent";
const OURS: LibraryName = "@spillway/client";
const QUICK: readonly LibraryName[] = [OURS, "@smithy/util-retry"];

/** Three layers of one library at its defaults above a service that answers everything with 503, over real sockets. */
export async function stackOverSockets({ quick, say }: Lab): Promise<Findings> {
  const libraries = quick ? QUICK : (Object.keys(LIBRARY_NAMES) as LibraryName[]);
  const callsOf = (library: LibraryName): typeof FEW => (library === OURS ? MANY : FEW);
  const runs = await inParallel(libraries.length, libraries, (library): Promise<PeerRun> => {
    say(`  ${library}, ${LAYERS} layers`);
    const ask = { ask: "stack", library, layers: LAYERS, ...callsOf(library) } as const;
    return runPeers({ ask: "listen", service: "dead" }, (url) => ({ ...ask, url }), WITHIN_MS);
  });
  const perUser = (library: LibraryName): number =>
    (runs[libraries.indexOf(library)]?.requests ?? 0) / callsOf(library).calls;
  return {
    tables: [
      {
        caption: `Calls at the bottom for one user, ${LAYERS} layers of one library above it that each retry, over real sockets; each library at its defaults`,
        columns: ["client", "users", "calls at the bottom", "per user"],
        rows: libraries.map((library, index) => [
          library === HASTY ? `${library}, waits of 20 ms at most` : library,
          callsOf(library).calls,
          runs[index]?.requests ?? 0,
          perUser(library),
        ]),
      },
    ],
    plots: [],
    marks: [atMost("calls at the bottom for one user by ours, over sockets", perUser(OURS), 1.1)],
    summary: "",
  };
}
