import { describe, expect, it } from "vitest";
import { ShareLedger, WHOLE } from "./share-ledger.ts";
import type { Allotment, Beat } from "./store.ts";

const LIFE_MS = 1000;

/** Processes that speak to one ledger. Shares here are parts of 1. */
class Fleet {
  readonly #ledger = new ShareLedger();
  readonly #numbers = new Map<string, number>();
  nowMs = 5_000_000;

  /** What `id` is offered when it uses `share` and `even`, and `demand` is asked of it. */
  beat(id: string, share: number, even: number, demand: number, given: Partial<Beat> = {}): number[] {
    const { replicas, ...rest } = this.say(id, { share: share * WHOLE, even: even * WHOLE, demand, ...given });
    return [rest.share / WHOLE, rest.even / WHOLE, rest.due / WHOLE, replicas];
  }

  say(id: string, given: Partial<Beat>): Allotment {
    const number = given.number ?? (this.#numbers.get(id) ?? 0) + 1;
    this.#numbers.set(id, Math.max(number, this.#numbers.get(id) ?? 0));
    const beat = { id, lifeMs: LIFE_MS, share: 0, even: 0, demand: 0, replicas: 1, leaves: false, ...given, number };
    return this.#ledger.allot(beat, this.nowMs);
  }
}

describe("shares by demand", () => {
  it("are all for who is alone, and nothing for who comes later until the first has given way and said so", () => {
    const fleet = new Fleet();
    expect(fleet.beat("a", 0, 0, 300)).toEqual([1, 1, 1, 1]);
    expect(fleet.beat("b", 0, 0, 100)).toEqual([0, 0, 0.25, 2]);
    // It is offered less, but that answer may be lost: it may be using all still.
    expect(fleet.beat("a", 1, 1, 300)).toEqual([0.75, 0.5, 0.75, 2]);
    expect(fleet.beat("b", 0, 0, 100)).toEqual([0, 0, 0.25, 2]);
    expect(fleet.beat("a", 0.75, 0.5, 300)).toEqual([0.75, 0.5, 0.75, 2]);
    expect(fleet.beat("b", 0, 0, 100)).toEqual([0.25, 0.5, 0.25, 2]);
  });

  it("follow the demand", () => {
    const fleet = new Fleet();
    fleet.beat("a", 0, 0, 100);
    fleet.beat("b", 0, 0, 0);
    for (let i = 0; i < 3; i++) fleet.beat("a", 1, 1, 0);
    expect(fleet.beat("a", 0, 0.5, 0)).toEqual([0, 0.5, 0, 2]);
    expect(fleet.beat("b", 0, 0, 100)).toEqual([1, 0.5, 1, 2]);
  });

  it("a little above what is due are left alone, since demand is noisy; not those that are far above", () => {
    for (const [used, offered] of [
      [0.52, 0.52],
      [0.53, 0.5],
    ] as const) {
      const fleet = new Fleet();
      fleet.beat("a", 0, 0, 1000);
      fleet.beat("b", 0, 0, 1000);
      expect(fleet.beat("a", used, 0.5, 1000)[0]).toBe(offered);
      expect(fleet.beat("b", 0, 0, 1000)[0]).toBeCloseTo(1 - used, 8);
    }
  });

  it("leave the part free of processes that are there but were not counted", () => {
    const fleet = new Fleet();
    expect(fleet.beat("a", 0, 0, 10, { replicas: 4 })).toEqual([0.25, 0.25, 0.25, 1]);
    expect(fleet.beat("b", 0, 0, 10, { replicas: 4 })).toEqual([0.25, 0.25, 0.25, 2]);
    for (const id of ["c", "d", "e"]) fleet.beat(id, 0, 0, 10, { replicas: 4 });
    expect(fleet.beat("a", 0.2, 0.2, 10, { replicas: 4 })).toEqual([0.2, 0.2, 0.2, 5]);
  });

  it("are nothing where nothing is asked of anybody", () => {
    expect(new Fleet().beat("a", 0, 0, 0)).toEqual([0, 1, 0, 1]);
  });
});

describe("the ledger", () => {
  it("answers a beat that it knows alike, and lowers nothing for it", () => {
    const fleet = new Fleet();
    const first = fleet.say("a", { demand: 10 });
    expect(fleet.say("a", { demand: 10, number: 1 })).toEqual(first);
    // An old beat that says it uses nothing says nothing of what it was offered since.
    fleet.say("a", { demand: 10, number: 3, share: WHOLE, even: WHOLE });
    fleet.say("a", { demand: 10, number: 2 });
    expect(fleet.beat("b", 0, 0, 10).slice(0, 2)).toEqual([0, 0]);
  });

  it("frees what a process had when it leaves, and at once", () => {
    const fleet = new Fleet();
    fleet.beat("a", 0, 0, 10);
    expect(fleet.beat("a", 1, 1, 0, { leaves: true })).toEqual([0, 0, 0, 0]);
    expect(fleet.beat("b", 0, 0, 10)).toEqual([1, 1, 1, 1]);
    expect(fleet.beat("c", 0, 0, 0, { leaves: true })[3]).toBe(1);
  });

  it("frees it when the process is not heard of for its life, a quarter of a life later at most", () => {
    const fleet = new Fleet();
    fleet.beat("a", 0, 0, 10);
    fleet.nowMs += LIFE_MS - 1;
    expect(fleet.beat("b", 0, 0, 10)).toEqual([0, 0, 0.5, 2]);
    fleet.nowMs += LIFE_MS / 4;
    expect(fleet.beat("b", 0, 0, 10)).toEqual([1, 1, 1, 1]);
  });

  it("forgets by each process's own life", () => {
    const fleet = new Fleet();
    fleet.beat("a", 0, 0, 10, { lifeMs: 10 * LIFE_MS });
    fleet.nowMs += 2 * LIFE_MS;
    expect(fleet.beat("b", 0, 0, 10)[3]).toBe(2);
  });

  it("takes a process at its word that uses more than the ledger knows of", () => {
    const fleet = new Fleet();
    fleet.beat("b", 0, 0, 90);
    fleet.beat("a", 0.7, 0.7, 10);
    expect(fleet.beat("b", 1, 1, 90)).toEqual([expect.closeTo(0.3, 8), expect.closeTo(0.3, 8), 0.9, 2]);
  });

  it("is not upset by a clock that is set back", () => {
    const fleet = new Fleet();
    fleet.beat("a", 0, 0, 10);
    fleet.nowMs -= 3_600_000;
    expect(fleet.beat("b", 0, 0, 10)).toEqual([1, 1, 1, 1]);
  });
});
