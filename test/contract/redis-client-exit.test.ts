import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Rig, startRig, type Topology } from "./redis-clients/rig.ts";

const IDLE_STORE = fileURLToPath(new URL("redis-clients/idle-store.mjs", import.meta.url));

describe("a process with an idle store", () => {
  const topologies: [Topology, string[]][] = [
    ["standalone", ["ioredis", "iovalkey", "node-redis"]],
    ["sentinel", ["ioredis", "iovalkey"]],
    ["cluster", ["ioredis", "iovalkey", "node-redis"]],
  ];
  describe.each(topologies)("%s", (topology, drivers) => {
    let rig: Rig;
    beforeAll(async () => {
      rig = await startRig(topology);
    });
    afterAll(() => rig?.stop());

    /** Runs it to its end and gives the time from its last word. */
    async function run(driver: string): Promise<{ sources: Set<string>; ms: number }> {
      let saidMs = 0;
      const child = promisify(execFile)(process.execPath, [IDLE_STORE, topology, driver, JSON.stringify(rig.target)], {
        timeout: 10_000,
        killSignal: "SIGKILL",
      });
      child.child.stdout?.once("data", () => {
        saidMs = performance.now();
      });
      const { stdout } = await child;
      return { sources: new Set(stdout.trim().split(",")), ms: performance.now() - saidMs };
    }

    it.each(drivers)("ends by itself over %s", async (driver) => {
      await rig.forget();
      const { sources, ms } = await run(driver);
      expect(sources).toEqual(new Set(["store"]));
      expect(ms).toBeLessThan(2000);
    });

    it.each(drivers)("ends by itself over %s when nobody listens", async (driver) => {
      for (const proxy of rig.proxies) await proxy.cut();
      const { sources, ms } = await run(driver);
      expect(sources).toEqual(new Set(["backstop"]));
      expect(ms).toBeLessThan(2500);
    });

    it.each(drivers)("ends by itself over %s when nothing answers", async (driver) => {
      await rig.forget();
      for (const proxy of rig.proxies) proxy.stall();
      const { sources, ms } = await run(driver);
      expect(sources).toEqual(new Set(["backstop"]));
      expect(ms).toBeLessThan(5000);
    });
  });
});
