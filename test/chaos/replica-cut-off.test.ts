import { expect } from "vitest";
import { degradedIndices } from "./admissions.ts";
import { PROCESSES } from "./fault.ts";
import { faultTest } from "./fault-test.ts";

const CUT_OFF = 0;

for (const [how, name, begin, end] of [
  ["refused", "one of four cut off 4 s, refused", "cut", "mend"],
  ["silent", "one of four cut off 4 s, silent", "halfOpen", "resume"],
] as const) {
  faultTest(
    `one process of ${PROCESSES} that is ${how} admits its share, the others go on with the store`,
    {
      name,
      viaProxy: [CUT_OFF],
      lastsMs: 4_000,
      begin: ({ proxy }) => proxy[begin](),
      end: ({ proxy }) => proxy[end](),
    },
    { absences: 1, onlyOf: [CUT_OFF], leastUsed: { uniform: 0.99 } },
    ({ reports }, quiet) => {
      if (!quiet) return;
      for (const { process, decisions } of reports)
        if (process !== CUT_OFF) expect(degradedIndices(decisions)).toEqual([]);
    },
  );
}
