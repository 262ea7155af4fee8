import { type FakedClock, fakedClock, findFakeTime } from "@spillway/testkit";
import { afterAll, expect } from "vitest";
import { faultTest } from "./fault-test.ts";

const missing = findFakeTime() === undefined ? "libfaketime is not installed (apt-get install faketime)" : undefined;
const STEP_MS = 10_000;

for (const [direction, stepMs, jumps] of [
  ["forward", STEP_MS, 1],
  ["back", -STEP_MS, 0],
] as const) {
  let clock: FakedClock | undefined;
  afterAll(() => clock?.[Symbol.dispose]());
  let beforeS = 0;
  let afterS = 0;

  faultTest(
    `a server whose clock is set ${direction} under load decides at once and locks nobody out (C02)`,
    {
      name: `Redis clock stepped ${direction} 10 s`,
      skip: missing,
      server() {
        clock = fakedClock();
        return { env: clock.env };
      },
      lastsMs: 3_000,
      async begin({ admin }) {
        beforeS = Number((await admin.time())[0]);
        clock?.setAhead(stepMs);
        afterS = Number((await admin.time())[0]);
      },
      end() {},
    },
    { absences: 0, jumps, leastUsed: { uniform: 0.99, zipf: 0.99, "one-hot": 0.99 } },
    () => expect(Math.abs(afterS - beforeS - stepMs / 1000)).toBeLessThanOrEqual(2),
  );
}
