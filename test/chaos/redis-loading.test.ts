import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { faultTest } from "./fault-test.ts";

const OTHER_KEYS = 2_000;
/** So much longer the server takes for each key that it loads. */
const LOAD_DELAY_US = 1_000;

let folder: string | undefined;
let restarted: Promise<void>;
afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

faultTest(
  "a Redis that reads its data back is left alone until it has them",
  {
    name: "LOADING for 2 s",
    server() {
      folder = mkdtempSync(join(tmpdir(), "spillway-dump-"));
      return {
        args: [
          ...["--dir", folder, "--dbfilename", "dump.rdb"],
          // Without this it would answer nobody at all while it loads so little.
          ...["--loading-process-events-interval-bytes", "1024", "--key-load-delay", String(LOAD_DELAY_US)],
        ],
      };
    },
    async prepare({ admin }) {
      const fill = admin.pipeline();
      for (let i = 0; i < OTHER_KEYS; i++) fill.set(`other-${i}`, "x".repeat(100));
      await fill.exec();
    },
    async begin({ server, admin }) {
      await admin.save();
      restarted = server.restart();
    },
    lastsMs: 0,
    end: () => restarted,
  },
  { absences: 1 },
  ({ reports }) => {
    const reasons = reports.flatMap(({ changes }) => changes.map(({ reason }) => reason)).join("; ");
    expect(reasons).toMatch(/LOADING|ECONNREFUSED|ECONNRESET/);
  },
);
