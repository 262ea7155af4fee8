import { describe, expect, it } from "vitest";
import { ShareLedger } from "../stores/share-ledger.ts";
import { type AllotShares, ShareFleet } from "../testing/sharing/test-support.ts";

const ledger = (): AllotShares => {
  const shares = new ShareLedger();
  return (beat, nowMs) => shares.allot(beat, nowMs);
};
const inUse = ({ shares, clock }: ShareFleet["processes"][number]): number => shares.inUse(clock.monotonicMs());
const rounded = (fleet: ShareFleet): number[] => fleet.processes.map((process) => Number(inUse(process).toFixed(3)));

describe("a process whose load comes and goes", () => {
  it("says what it has put off when the limiter that was away is closed", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(500), fleet.start(500)];
    const other = { decided: () => 0, hasCallersWaiting: false, phase: () => "away" as const, replicas: 1 };
    const closed = { ...other, awaySinceMs: () => undefined };
    a.shares.join(closed);
    await fleet.pass(5000);
    a.perSecond = 0;
    await fleet.pass(5000);
    expect(inUse(b)).toBeLessThan(0.6);
    await a.shares.leave(closed);
    await fleet.pass(1000);
    expect(inUse(b)).toBeGreaterThan(0.6);
  });

  it("gives way within a fraction of a second where it has nothing to do any more", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(1000), fleet.start(1000)];
    await fleet.pass(3000);
    [a.perSecond, b.perSecond] = [2000, 0];
    await fleet.pass(1000);
    for (let i = 0; i < 4; i++) {
      [a.perSecond, b.perSecond] = [b.perSecond, a.perSecond];
      await fleet.pass(300, 10);
      expect(rounded(fleet)).toEqual(a.perSecond > 0 ? [0.95, 0.05] : [0.05, 0.95]);
      await fleet.pass(1200, 10);
    }
  });

  it("has its share within a fraction of a second where it begins again soon after it was over", async () => {
    for (const load of [
      [4000, 0, 0, 0],
      [1000, 1000, 1000, 1000],
    ]) {
      const fleet = new ShareFleet(ledger());
      const processes = load.map(() => fleet.start(250));
      await fleet.pass(400, 10);
      for (const process of processes) process.perSecond = 0;
      await fleet.pass(500, 10);
      for (const [i, process] of processes.entries()) process.perSecond = load[i] as number;
      await fleet.pass(300, 10);
      for (const [i, share] of rounded(fleet).entries())
        expect(share).toBeGreaterThan((0.88 * (load[i] as number)) / 4000);
    }
  });

  it("speaks no more often than else where few requests come at random", async () => {
    const fleet = new ShareFleet(ledger());
    const processes = [fleet.start(0), fleet.start(0)];
    let random = 1;
    await fleet.pass(60_000, 50, () => {
      for (const process of processes) {
        random = (random * 48_271) % 2_147_483_647;
        process.perSecond = random < 0.2 * 2_147_483_647 ? 20 : 0;
      }
    });
    for (const { beats } of processes) expect(beats).toBeLessThan(130);
  });

  it("says once that it has given its share up, and what it had is free from then on", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(1000), fleet.start(1000)];
    await fleet.pass(5000);
    const { beats } = a;
    [a.perSecond, b.perSecond] = [0, 0];
    await fleet.pass(5000);
    expect(a.beats - beats).toBe(1);
    expect(rounded(fleet)).toEqual([0.05, 0.05]);
  });

  it("keeps its share through the pauses of work that comes in bursts, once it knows them", async () => {
    const fleet = new ShareFleet(ledger());
    const process = fleet.start(1000);
    fleet.start(1);
    for (let i = 0; i < 8; i++) {
      process.perSecond = 1000;
      await fleet.pass(300);
      process.perSecond = 0;
      await fleet.pass(300);
    }
    expect(inUse(process)).toBeGreaterThan(0.9);
  });

  it("keeps its share while callers wait for a store that does not answer", async () => {
    const fleet = new ShareFleet(ledger());
    const [a] = [fleet.start(1000), fleet.start(1000)];
    await fleet.pass(5000);
    const { beats } = a;
    [a.perSecond, a.hasCallersWaiting] = [0, true];
    await fleet.pass(900);
    expect([inUse(a) > 0.45, a.beats - beats]).toEqual([true, 0]);
    a.hasCallersWaiting = false;
    await fleet.pass(300);
    expect([rounded(fleet)[0], a.beats - beats]).toEqual([0.05, 1]);
  });

  it("says that its work is over when the store is back, if it was away when the work ended", async () => {
    for (const state of ["away", "returning"] as const) {
      const fleet = new ShareFleet(ledger());
      const [a, b] = [fleet.start(500), fleet.start(500)];
      await fleet.pass(5000);
      a.state = state;
      a.perSecond = 0;
      await fleet.pass(5000);
      expect([inUse(b) < 0.6, a.clock.pendingTimers]).toEqual([true, 0]);
      a.shares.noteReady();
      expect(a.clock.pendingTimers).toBe(0);
      a.state = "ready";
      a.shares.noteReady();
      await fleet.pass(1000);
      expect([inUse(b) > 0.9, a.clock.pendingTimers]).toEqual([true, 0]);
      const { beats } = a;
      a.shares.noteReady();
      await fleet.pass(1000);
      expect([a.beats, a.clock.pendingTimers]).toEqual([beats, 0]);
    }
  });
});
