import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryStore } from "../stores/memory-store.ts";
import { ShareLedger, WHOLE } from "../stores/share-ledger.ts";
import type { Allotment, Beat, Store } from "../stores/store.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { type AllotShares, type BeatFate, ShareFleet, SWIFT } from "../testing/sharing/test-support.ts";
import { ReplicaShares, replicaSharesOf } from "./replica-shares.ts";

const ledger = (): AllotShares => {
  const shares = new ShareLedger();
  return (beat, nowMs) => shares.allot(beat, nowMs);
};
const nowOf = (process: ShareFleet["processes"][number]): number => process.clock.monotonicMs();
const inUse = (process: ShareFleet["processes"][number]): number => process.shares.inUse(nowOf(process));
const rounded = (fleet: ShareFleet): number[] => fleet.processes.map((process) => Number(inUse(process).toFixed(3)));

describe("a process among others", () => {
  it("is one of those that the user speaks of until the store has counted it", () => {
    const fleet = new ShareFleet(ledger());
    expect([inUse(fleet.start(0)), inUse(fleet.start(0, 4))]).toEqual([1, 0.25]);
  });

  it("gets a share of what follows its demand, and a part of what is the same for all", async () => {
    const fleet = new ShareFleet(ledger());
    for (const perSecond of [600, 300, 100, 0]) fleet.start(perSecond);
    const idle = fleet.processes[3];
    if (idle !== undefined) idle.perSecond = 1;
    await fleet.pass(15_000);
    const [hot, warm, cool] = rounded(fleet);
    expect(hot).toBeCloseTo(0.9 * 0.6 + 0.025, 1);
    expect(warm).toBeCloseTo(0.9 * 0.3 + 0.025, 1);
    expect(cool).toBeCloseTo(0.9 * 0.1 + 0.025, 1);
    expect(fleet.sum).toBeGreaterThan(0.97);
    expect(fleet.processes.map(({ shares }) => shares.replicas)).toEqual([4, 4, 4, 4]);
  });

  it("that starts gets its part within a few seconds", async () => {
    const fleet = new ShareFleet(ledger());
    fleet.start(500);
    await fleet.pass(10_000);
    const late = fleet.start(500);
    await fleet.pass(5000);
    expect(inUse(late)).toBeGreaterThan(0.4);
  });

  it("gives way to another one that the load has moved to, within two seconds", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(500), fleet.start(500)];
    await fleet.pass(5000);
    [a.perSecond, b.perSecond] = [1000, 0];
    await fleet.pass(5000);
    expect(rounded(fleet)).toEqual([0.95, 0.05]);
    [a.perSecond, b.perSecond] = [0, 1000];
    await fleet.pass(2000);
    expect(rounded(fleet)).toEqual([0.05, 0.95]);
  });

  it("that crashes is forgotten after half a minute and a quarter of that", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(500), fleet.start(500)];
    await fleet.pass(5000);
    fleet.crash(b);
    await fleet.pass(25_000);
    expect(inUse(a)).toBeLessThan(0.6);
    await fleet.pass(15_000);
    expect([inUse(a), a.shares.replicas]).toEqual([1, 1]);
  });

  it("that leaves says so, and its share is free at once", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(500), fleet.start(500)];
    await fleet.pass(5000);
    b.perSecond = 0;
    const left = b.shares.leave(b);
    await fleet.pass(50);
    await left;
    fleet.crash(b);
    await fleet.pass(3000);
    expect(inUse(a)).toBe(1);
  });

  it("keeps the part free of those that are not counted, as the user says", async () => {
    const fleet = new ShareFleet(ledger());
    fleet.start(500, 4);
    fleet.start(500, 4);
    await fleet.pass(10_000);
    expect(fleet.sum).toBeLessThanOrEqual(0.5);
    for (const process of fleet.processes) expect(inUse(process)).toBeCloseTo(0.25, 1);
  });

  it("that the store may have forgotten before it went away is one of those it has heard of", async () => {
    const fleet = new ShareFleet(ledger());
    const [a, b] = [fleet.start(500), fleet.start(500)];
    await fleet.pass(5000);
    b.perSecond = 0;
    await fleet.pass(29_000);
    expect(inUse(b)).toBeCloseTo(0.05, 9);
    await fleet.pass(5000);
    expect([b.shares.allotted(nowOf(b)), inUse(b)]).toEqual([undefined, 0.5]);
    // Not one that was cut off while it counted, however long ago.
    a.state = "away";
    a.perSecond = 0;
    const awaySinceMs = nowOf(a);
    await fleet.pass(60_000);
    expect(a.shares.allotted(awaySinceMs)).toBeGreaterThan(0.4);
  });

  it("is forgotten by its own clocks too when it was suspended and one of them stood still", async () => {
    const fleet = new ShareFleet(ledger());
    const process = fleet.start(500);
    await fleet.pass(5000);
    process.clock.stepWall(31_000);
    expect(process.shares.allotted(nowOf(process))).toBeUndefined();
  });
});

describe("what it says", () => {
  it("it says soon, then every second, and no more when its work is over", async () => {
    const fleet = new ShareFleet(ledger());
    const process = fleet.start(500);
    const atMs: number[] = [];
    for (let ms = 0; ms < 20_000; ms += 50) {
      const before = process.beats;
      await fleet.pass(50);
      if (process.beats > before) atMs.push(ms);
    }
    expect(atMs.slice(0, 4)).toEqual([250, 300, 700, 1700]);
    expect(atMs.length).toBeLessThan(24);
    process.perSecond = 0;
    await fleet.pass(3000);
    const { beats } = process;
    await fleet.pass(3_600_000, 1000);
    expect([process.beats, process.clock.pendingTimers]).toEqual([beats, 0]);
  });

  it("nothing at all for a process that is gone within a quarter of a second", async () => {
    const fleet = new ShareFleet(ledger());
    const process = fleet.start(500);
    await fleet.pass(200);
    process.perSecond = 0;
    await fleet.pass(10_000);
    expect(process.beats).toBe(0);
  });

  it("is no more than five beats a second, however the load jumps", async () => {
    const fleet = new ShareFleet(ledger());
    const processes = [fleet.start(500), fleet.start(500), fleet.start(500)];
    for (let second = 0; second < 60; second++) {
      for (const [i, process] of processes.entries()) process.perSecond = second % 3 === i ? 1000 : 1;
      await fleet.pass(1000);
    }
    for (const { beats } of processes) expect(beats).toBeLessThan(5 * 60);
  });

  it("is repeated when the work is over and nobody answers, and not for ever", async () => {
    let isLost = false;
    const fleet = new ShareFleet(ledger(), () => ({ ...SWIFT, isRequestLost: isLost }));
    const process = fleet.start(500);
    await fleet.pass(5500);
    isLost = true;
    const { beats } = process;
    process.perSecond = 0;
    await fleet.pass(30_000);
    expect([process.beats - beats, process.clock.pendingTimers]).toEqual([4, 0]);
  });
});

describe("shares in use", () => {
  /** A story of a few processes that come and go, work and sleep, on a bad line: the largest sum that was ever in use. */
  async function worstSum(seed: number, allot: AllotShares): Promise<number> {
    const random = randomOf(seed);
    const pick = (n: number): number => Math.floor(random() * n);
    const fateOf = (): BeatFate => ({
      requestMs: random() < 0.2 ? pick(4000) : 0,
      replyMs: random() < 0.2 ? pick(4000) : 0,
      isRequestLost: random() < 0.1,
      isReplyLost: random() < 0.15,
      againMs: random() < 0.1 ? pick(6000) : undefined,
    });
    const fleet = new ShareFleet(allot, fateOf);
    let worst = 0;
    const look = (): void => {
      worst = Math.max(worst, fleet.sum);
    };
    for (let step = 0; step < 60; step++) {
      const process = fleet.processes[pick(fleet.processes.length)];
      const what = random();
      if (process === undefined || (what < 0.1 && fleet.processes.length < 5)) fleet.start(pick(1000), 1 + pick(2));
      else if (what < 0.15) fleet.crash(process);
      else if (what < 0.2) void process.shares.leave(process).then(() => process.shares.join(process));
      else if (what < 0.3) await nap(fleet, process, 1000 * pick(50), random() < 0.5);
      else process.perSecond = random() < 0.3 ? 0 : 10 ** (3 * random());
      await fleet.pass(100 * pick(40), 100, look);
    }
    return worst;
  }

  /** A process is stopped for a while; its monotonic clock may stand still meanwhile. */
  async function nap(
    fleet: ShareFleet,
    process: ShareFleet["processes"][number],
    ms: number,
    isSuspended: boolean,
  ): Promise<void> {
    process.sleeps = true;
    await fleet.pass(ms, 500);
    process.sleeps = false;
    if (isSuspended) process.clock.stepWall(ms);
    else process.wakeAfter(ms);
  }

  it("never sum to more than the whole, whatever is lost, late or doubled, whoever comes, goes or sleeps", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        expect(await worstSum(seed, ledger())).toBeLessThanOrEqual(1 + 1e-9);
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  const TWINS: Readonly<Record<string, () => AllotShares>> = {
    "that counts only what it offered last": () => {
      const shares = new ShareLedger();
      return (beat, nowMs) => shares.allot({ ...beat, share: 0, even: 0 }, nowMs);
    },
    "that takes every beat for a new one": () => {
      const shares = new ShareLedger();
      let number = 0;
      return (beat, nowMs) => shares.allot({ ...beat, number: ++number }, nowMs);
    },
    "that forgets after a quarter of the life": () => {
      const shares = new ShareLedger();
      return (beat, nowMs) => shares.allot({ ...beat, lifeMs: beat.lifeMs / 4 }, nowMs);
    },
    "that lets a process go whose farewell comes late, when it is back at work": () => {
      const shares = new ShareLedger();
      const latest = Number.MAX_SAFE_INTEGER;
      return (beat, nowMs) => shares.allot(beat.leaves ? { ...beat, number: latest } : beat, nowMs);
    },
    "that offers what is due": () => {
      const shares = new ShareLedger();
      return (beat, nowMs) => {
        const allotment = shares.allot(beat, nowMs);
        return { ...allotment, share: allotment.due };
      };
    },
  };

  it.each(Object.entries(TWINS))(
    "would sum to more with a ledger %s",
    async (_, twin) => {
      let worst = 0;
      for (let seed = 0; seed < 200 && worst <= 1 + 1e-9; seed++) worst = Math.max(worst, await worstSum(seed, twin()));
      expect(worst).toBeGreaterThan(1 + 1e-9);
    },
    60_000,
  );
});

describe("a store", () => {
  const storeOf = (allotShares: (beat: Beat) => Promise<Allotment>): Store =>
    Object.assign(memoryStore({ clock: manualClock() }), { allotShares });

  it.each<[string, () => Promise<Allotment>]>([
    ["that fails", () => Promise.reject(new Error("gone"))],
    [
      "that throws",
      () => {
        throw new Error("gone");
      },
    ],
    ["that answers nothing", () => Promise.resolve(undefined as unknown as Allotment)],
  ])("%s leaves the share as it was", async (_, allotShares) => {
    const clock = manualClock();
    const shares = new ReplicaShares(storeOf(allotShares), clock);
    shares.join({
      decided: () => clock.monotonicMs(),
      hasCallersWaiting: false,
      phase: () => "ready",
      awaySinceMs: () => undefined,
      replicas: 2,
    });
    for (let i = 0; i < 10; i++) {
      shares.noteAtWork();
      clock.advance(500);
      await Promise.resolve();
    }
    expect(shares.inUse(clock.monotonicMs())).toBe(0.5);
  });

  it("has one set of shares for all limiters of a process, and is told what is asked of all of them", async () => {
    const beats: Beat[] = [];
    const clock = manualClock();
    const scope = {};
    const store = Object.assign(
      storeOf(async (beat) => {
        beats.push(beat);
        return { replicas: 1, share: WHOLE, even: WHOLE, due: WHOLE, demand: beat.demand };
      }),
      { scope },
    );
    const shares = replicaSharesOf(store, clock);
    expect(replicaSharesOf(Object.assign(memoryStore({ clock }), { scope }), clock)).toBe(shares);
    expect(replicaSharesOf(memoryStore({ clock }), clock)).not.toBe(shares);
    let decided = 0;
    const users = [1, 3].map((replicas) => ({
      decided: () => decided,
      hasCallersWaiting: false,
      phase: () => "ready" as const,
      awaySinceMs: () => undefined,
      replicas,
    }));
    for (const user of users) shares.join(user);
    shares.noteAtWork();
    decided = 1000;
    clock.advance(1000);
    shares.noteAtWork();
    expect(beats[0]).toMatchObject({ number: 1, share: 0, replicas: 3, leaves: false });
    expect(beats[0]?.demand).toBeGreaterThan(1_500_000);
    await shares.leave(users[0] as (typeof users)[0]);
    expect(beats.length).toBe(1);
    await shares.leave(users[1] as (typeof users)[0]);
    expect(beats.map(({ leaves }) => leaves)).toEqual([false, true]);
  });

  it("is told nothing while shares are in use that must not change one by one", () => {
    let beats = 0;
    let phase: "ready" | "returning" = "returning";
    const clock = manualClock();
    const shares = new ReplicaShares(
      storeOf(() => {
        beats++;
        return new Promise(() => {});
      }),
      clock,
    );
    shares.join({
      decided: () => clock.monotonicMs(),
      hasCallersWaiting: false,
      phase: () => phase,
      awaySinceMs: () => undefined,
      replicas: 1,
    });
    for (let i = 0; i < 10; i++) {
      clock.advance(500);
      shares.noteAtWork();
    }
    expect(beats).toBe(0);
    phase = "ready";
    clock.advance(500);
    shares.noteAtWork();
    expect(beats).toBe(1);
  });
});

/** The mulberry32 generator. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
