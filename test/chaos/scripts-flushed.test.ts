import { commandCalls } from "@spillway/testkit";
import { expect } from "vitest";
import { PROCESSES } from "./fault.ts";
import { faultTest } from "./fault-test.ts";

const EVERY_MS = 100;
const LASTS_MS = 3_000;
/** Calls under way at one time in a process: each may find out by itself that the script is gone. */
const FLIGHTS = 3;

let timer: NodeJS.Timeout;
let texts = 0;
let flushes = 0;

faultTest(
  "a server that forgets its scripts is told them again, and no caller notices (C13 b)",
  {
    name: "SCRIPT FLUSH ten times a second",
    lastsMs: LASTS_MS,
    begin({ admin }) {
      flushes = 0;
      timer = setInterval(() => {
        flushes++;
        void admin.script("FLUSH");
      }, EVERY_MS);
    },
    async end({ admin }) {
      clearInterval(timer);
      texts = (await commandCalls(admin)).get("eval") ?? 0;
    },
  },
  { absences: 0 },
  () => {
    expect(flushes).toBeGreaterThan(10);
    expect(texts).toBeGreaterThan(10);
    expect(texts).toBeLessThanOrEqual((flushes + 1) * PROCESSES * FLIGHTS);
  },
);
