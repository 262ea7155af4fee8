import { expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { LONGEST_PROBE_PAUSE_MS } from "./circuit-breaker.ts";
import { CommonReturn, holdMs } from "./common-return.ts";

const DEADLINE_MS = 50;

function setup() {
  const clock = manualClock();
  const ended: string[] = [];
  const returns = new CommonReturn(clock, DEADLINE_MS, (node) => ended.push(node));
  return { clock, ended, returns };
}

it("a return is under way as long as another process may take to notice, even if one of its probes is lost", () => {
  const { clock, ended, returns } = setup();
  expect([returns.isUnderWay, returns.isEnding]).toEqual([false, false]);
  returns.begin("a", -500);
  clock.advance(2 * (LONGEST_PROBE_PAUSE_MS + DEADLINE_MS) - 1);
  expect([returns.isUnderWay, returns.isEnding, returns.awaySinceMs("a"), ended]).toEqual([true, true, -500, []]);
  clock.advance(1);
  expect([returns.isUnderWay, returns.isEnding, returns.awaySinceMs("a"), ended]).toEqual([
    false,
    false,
    undefined,
    ["a"],
  ]);
  expect(holdMs(DEADLINE_MS)).toBeLessThan(1500);
});

it("nodes return each by itself", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0);
  clock.advance(1000);
  returns.begin("b", 900);
  clock.advance(400);
  expect([ended, returns.isUnderWay, returns.awaySinceMs("b")]).toEqual([["a"], true, 900]);
  clock.advance(1000);
  expect([ended, returns.isUnderWay]).toEqual([["a", "b"], false]);
});

it("a node that goes away again is held until it has come back for long enough", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0);
  clock.advance(1000);
  returns.putOff("a");
  clock.advance(60_000);
  expect([returns.isUnderWay, returns.isEnding, ended]).toEqual([true, false, []]);
  returns.begin("a", 1000);
  clock.advance(1000);
  expect(returns.isUnderWay).toBe(true);
  clock.advance(1000);
  expect([returns.isUnderWay, ended]).toEqual([false, ["a"]]);
});

it("a node that is asked no more returns no more, and nothing is left of it", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0);
  returns.cancel("a");
  returns.cancel("never heard of");
  returns.begin("b", 0);
  returns.close();
  expect([returns.isUnderWay, clock.pendingTimers]).toEqual([false, 0]);
  clock.advance(10_000);
  expect(ended).toEqual([]);
});
