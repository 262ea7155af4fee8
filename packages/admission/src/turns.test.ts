import type { Clock } from "spillway";
import { expect, it } from "vitest";
import { turnClock } from "./test-support.ts";
import { Turns } from "./turns.ts";

/** How many turns of the loop are asked for while so many runs, asked for at one instant, compute 2 ms each. */
function turnsAsked(runs: number): { readonly asked: number; readonly ran: number[] } {
  const clock = turnClock();
  let asked = 0;
  const counting: Clock = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    startTimer: clock.startTimer,
    afterTurn(run) {
      asked++;
      clock.afterTurn(run);
    },
  };
  const turns = new Turns(counting);
  const ran: number[] = [];
  for (let i = 0; i < runs; i++)
    turns.of(() => {
      ran.push(i);
      clock.block(2);
    })();
  clock.settle();
  return { asked, ran };
}

it("runs that are asked for at one instant run in that order, at the same cost each however many they are", () => {
  const { asked, ran } = turnsAsked(1000);
  expect(ran).toEqual(Array.from({ length: 1000 }, (_, index) => index));
  expect(asked).toBeLessThan(5 * 1000);
});
