import { expect } from "vitest";
import { DEADLINE_MS, type FaultRun } from "./fault.ts";
import { faultTest } from "./fault-test.ts";
import type { Standalone } from "./stage.ts";

/** Nothing listens there. */
const NOWHERE = ["127.0.0.1", "1"] as const;
const LASTS_MS = 5_000;

let connectionsBefore = 0;
let connectionsAfter = 0;

faultTest(
  "a primary that turned into a replica is left alone at once, without reconnecting again and again (C13 a)",
  {
    name: "REPLICAOF another host",
    lastsMs: LASTS_MS,
    async begin(scene) {
      connectionsBefore = await connectionsOf(scene);
      await scene.admin.replicaof(...NOWHERE);
    },
    async end(scene) {
      connectionsAfter = await connectionsOf(scene);
      await scene.admin.replicaof("NO", "ONE");
    },
  },
  { absences: 1, silent: true },
  (run) => {
    expectReason(run, /READONLY/);
    // One for each probe.
    expect(connectionsAfter - connectionsBefore).toBeLessThanOrEqual(mostProbesIn(LASTS_MS) * run.reports.length);
  },
);

faultTest(
  "a Redis without room is left alone until there is room (C15 b)",
  {
    name: "maxmemory 1mb, noeviction",
    lastsMs: LASTS_MS,
    begin: ({ admin }) => admin.config("SET", "maxmemory", "1mb", "maxmemory-policy", "noeviction"),
    end: ({ admin }) => admin.config("SET", "maxmemory", "0"),
  },
  { absences: 1 },
  (run) => expectReason(run, /OOM/),
);

const USER = { username: "limiter", password: "secret" };
const grant = ({ admin }: Standalone, ...rights: string[]): Promise<unknown> =>
  admin.call("ACL", "SETUSER", USER.username, "on", `>${USER.password}`, "~*", ...rights);

for (const [right, said] of [
  ["evalsha", /evalsha/],
  ["time", /run this command/],
] as const) {
  faultTest(
    `a Redis user who lost the right to ${right.toUpperCase()} is told so once, and asks quietly (C15 c)`,
    {
      name: `ACL without ${right.toUpperCase()}`,
      redis: USER,
      lastsMs: LASTS_MS,
      prepare: (scene) => grant(scene, "+@all"),
      begin: (scene) => grant(scene, `-${right}`),
      end: (scene) => grant(scene, `+${right}`),
    },
    { absences: 1, silent: true },
    (run) => {
      expectReason(run, /lacks a permission/);
      expectReason(run, said);
      // At first three calls at once; what becomes of probes is not counted.
      for (const { stats } of run.reports) expect(stats.storeFaults).toBeLessThanOrEqual(3);
    },
  );
}

/** Each pause by chance as short as can be: a quarter less than a tenth of the time, or 50 ms, after a deadline. */
function mostProbesIn(ms: number): number {
  let probes = 0;
  for (let atMs = 37.5; atMs < ms; atMs += DEADLINE_MS + 0.75 * Math.max(50, atMs / 10)) probes++;
  return probes;
}

async function connectionsOf({ admin }: Standalone): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
}

function expectReason({ reports }: FaultRun, reason: RegExp): void {
  for (const { changes } of reports) expect(changes.map(({ message }) => message).join("; ")).toMatch(reason);
}
