import { expect } from "vitest";
import { degradedIndices } from "./admissions.ts";
import { faultTest } from "./fault-test.ts";
import type { Standalone } from "./stage.ts";

const EVERY_MS = 500;
let timer: NodeJS.Timeout;

function again(act: () => void): void {
  act();
  timer = setInterval(act, EVERY_MS);
}

for (const [title, name, cut] of [
  [
    "a connection that breaks before the answer costs that answer, and the next call connects again (C12 b)",
    "replies cut off, 2 a second",
    ({ proxy }: Standalone) => proxy.cutAfterExecution(1, "EVALSHA"),
  ],
  [
    "a connection that breaks before the call arrives costs nothing, and the next call connects again",
    "calls cut off, 2 a second",
    ({ proxy }: Standalone) => proxy.cutBeforeExecution(1, "EVALSHA"),
  ],
] as const) {
  faultTest(
    title,
    {
      name,
      viaProxy: "all",
      lastsMs: 3_000,
      begin: (scene) => again(() => cut(scene)),
      end: () => clearInterval(timer),
    },
    { absences: 0, degraded: "perhaps" },
    ({ reports }, quiet) => {
      expect(reports.flatMap(({ decisions }) => degradedIndices(decisions)).length).toBeGreaterThan(0);
      if (!quiet) return;
      for (const { missed } of reports) expect(missed).toBe(0);
    },
  );
}
