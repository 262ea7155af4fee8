import { atMost, type Findings, type Lab } from "../experiment.ts";
import { LIBRARY_NAMES, type LibraryName } from "./library-names.ts";
import { inParallel, type PeerRun, runPeers } from "./peer-process.ts";

const AT_ONCE = 3;
const WITHIN_MS = 120_000;
const OURS: LibraryName = "@spillway/client";
const QUICK: readonly LibraryName[] = [OURS, "ky", "cockatiel", "opossum"];

/** Calls of a service that answers everything with 503, by other libraries at their defaults, over real sockets. */
export async function deadOverSockets({ quick, say }: Lab): Promise<Findings> {
  const [calls, everyMs] = quick ? [200, 5] : [1000, 10];
  const libraries = quick ? QUICK : (Object.keys(LIBRARY_NAMES) as LibraryName[]);
  const runs = await inParallel(AT_ONCE, libraries, (library): Promise<PeerRun> => {
    say(`  ${library}, ${calls} calls of a dead service`);
    const ask = { ask: "stream", library, calls, everyMs } as const;
    return runPeers({ ask: "listen", service: "dead" }, (url) => ({ ...ask, url }), WITHIN_MS);
  });
  const requests = (library: LibraryName): number => runs[libraries.indexOf(library)]?.requests ?? 0;
  return {
    tables: [
      {
        caption: `${calls.toLocaleString("en-US")} calls, one each ${everyMs} ms, of a service that answers all of them with 503, over real sockets, each library at its defaults`,
        columns: ["client", "requests", "per call"],
        rows: libraries.map((library) => [library, requests(library), requests(library) / calls]),
      },
    ],
    plots: [],
    marks: [
      atMost(
        `requests beyond one a call by ours, of ${calls.toLocaleString("en-US")}`,
        requests(OURS) - calls,
        calls / 10 + 10,
      ),
    ],
    summary: "",
  };
}
