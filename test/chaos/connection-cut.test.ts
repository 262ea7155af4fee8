import { expect } from "vitest";
import type { Scene } from "./fault.ts";
import { faultTest } from "./fault-test.ts";

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
    ({ proxy }: Scene) => proxy.cutAfterExecution(1, "EVALSHA"),
  ],
  [
    "a connection that breaks before the call arrives costs nothing, and the next call connects again",
    "calls cut off, 2 a second",
    ({ proxy }: Scene) => proxy.cutBeforeExecution(1, "EVALSHA"),
  ],
] as const) {
  faultTest(
    title,
    {
      name,
      viaProxy: true,
      lastsMs: 3_000,
      begin: (scene) => again(() => cut(scene)),
      end: () => clearInterval(timer),
    },
    { absences: 0, degraded: "some" },
    ({ reports }) => {
      for (const { stats } of reports) expect(stats.storeMisses).toBe(0);
    },
  );
}
