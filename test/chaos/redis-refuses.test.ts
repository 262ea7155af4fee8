import { expect } from "vitest";
import type { FaultRun } from "./fault.ts";
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
    // One for each probe: at 100, 200 and 400 ms, then each half second, a quarter sooner at most.
    const mostProbes = 3 + LASTS_MS / 375;
    expect(connectionsAfter - connectionsBefore).toBeLessThanOrEqual(mostProbes * run.reports.length);
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
      // At first three calls at once, then probes at 100, 200, 400 ms and each half second.
      for (const { stats } of run.reports) expect(stats.storeFaults).toBeLessThanOrEqual(3);
    },
  );
}

async function connectionsOf({ admin }: Standalone): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))?.[1]);
}

function expectReason({ reports }: FaultRun, reason: RegExp): void {
  for (const { changes } of reports) expect(changes.map(({ message }) => message).join("; ")).toMatch(reason);
}
