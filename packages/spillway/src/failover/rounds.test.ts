import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { Rounds } from "./rounds.ts";

function* count(until: number, done: number[]): Generator<undefined, undefined> {
  for (let i = 0; i < until; i++) {
    done.push(i);
    yield;
  }
}

describe("work on many things", () => {
  it("of which there are few is done at once", () => {
    const done: number[] = [];
    const rounds = new Rounds(manualClock());
    rounds.start("a", count(100, done));
    expect([done.length, rounds.has("a")]).toEqual([100, false]);
  });

  it("is done a part in each turn, all of it and in order", async () => {
    const done: number[] = [];
    const rounds = new Rounds(manualClock());
    rounds.start("a", count(10_000, done));
    expect(rounds.has("a")).toBe(true);
    for (let before = 0; rounds.has("a"); await turn()) {
      expect(done.length - before).toBeLessThanOrEqual(1000);
      before = done.length;
    }
    expect(done).toEqual(Array.from({ length: 10_000 }, (_, i) => i));
  });

  it("of two kinds is done of one after the other, and begins anew where it is begun again", async () => {
    const [first, second, third]: [number[], number[], number[]] = [[], [], []];
    const rounds = new Rounds(manualClock());
    rounds.start("a", count(5000, first));
    rounds.start("b", count(5000, second));
    rounds.start("a", count(3000, third));
    expect([first.length, second.length, third.length]).toEqual([1000, 0, 0]);
    while (rounds.has("a") || rounds.has("b")) await turn();
    expect([first.length, second.length, third.length]).toEqual([1000, 5000, 3000]);
  });

  it("is done to the end when there is no more time", async () => {
    const [first, second]: [number[], number[]] = [[], []];
    const rounds = new Rounds(manualClock());
    rounds.start("a", count(5000, first));
    rounds.start("b", count(5000, second));
    rounds.finish();
    expect([first.length, second.length, rounds.has("a"), rounds.has("b")]).toEqual([5000, 5000, false, false]);
    await turn();
    expect(first.length).toBe(5000);
  });
});
