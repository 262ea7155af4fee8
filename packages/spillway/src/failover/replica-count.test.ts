import { describe, expect, it } from "vitest";
import { memoryStore } from "../stores/memory-store.ts";
import type { Store } from "../stores/store.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { ReplicaCount } from "./replica-count.ts";

interface Beat {
  readonly id: string;
  answer(count: number): void;
  fail(): void;
}

function setup(least = 1): { count: ReplicaCount; beats: Beat[]; clock: ReturnType<typeof manualClock> } {
  const beats: Beat[] = [];
  const clock = manualClock();
  const store: Store = Object.assign(memoryStore({ clock }), {
    countReplicas: (id: string) =>
      new Promise<number>((resolve, reject) => {
        beats.push({ id, answer: resolve, fail: () => reject(new Error("gone")) });
      }),
  });
  const count = new ReplicaCount(store, clock, least);
  return { count, beats, clock };
}

/** A process is counted once it has been at work for a quarter of a second. */
function beginWork(count: ReplicaCount, clock: ReturnType<typeof manualClock>): void {
  count.noteAtWork();
  clock.advance(250);
  count.noteAtWork();
}

describe("the number of processes", () => {
  it("is what the user says until the store has counted more", async () => {
    const { count, beats, clock } = setup(3);
    expect(count.count).toBe(3);
    beginWork(count, clock);
    beats[0]?.answer(5);
    await Promise.resolve();
    expect(count.count).toBe(5);
  });

  it("is never below what the user says", async () => {
    const { count, beats, clock } = setup(3);
    beginWork(count, clock);
    beats[0]?.answer(1);
    await Promise.resolve();
    expect(count.count).toBe(3);
  });

  it("stays what it was when the store cannot be told", async () => {
    const { count, beats, clock } = setup();
    beginWork(count, clock);
    beats[0]?.answer(4);
    await Promise.resolve();
    clock.advance(60_000);
    count.noteAtWork();
    beats[1]?.fail();
    await Promise.resolve();
    expect(count.count).toBe(4);
  });

  it("is asked for often at first, then every five seconds, by one id, and only by who works", () => {
    const { count, beats, clock } = setup();
    const atMs: number[] = [];
    for (let ms = 0; ms < 20_000; ms += 10) {
      const before = beats.length;
      count.noteAtWork();
      if (beats.length > before) atMs.push(ms);
      clock.advance(10);
    }
    expect(atMs).toEqual([250, 750, 1750, 3750, 7750, 12_750, 17_750]);
    expect(new Set(beats.map(({ id }) => id)).size).toBe(1);
    clock.advance(3_600_000);
    expect(clock.pendingTimers).toBe(0);
    expect(beats.length).toBe(atMs.length);
  });
});
