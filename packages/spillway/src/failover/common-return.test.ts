import { expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { longestProbePauseMs } from "./circuit-breaker.ts";
import { CommonReturn, holdMs } from "./common-return.ts";

const DEADLINE_MS = 50;
const LONG_MS = 60_000;

function setup() {
  const clock = manualClock();
  const ended: string[] = [];
  const returns = new CommonReturn(clock, DEADLINE_MS, (node) => ended.push(node));
  return { clock, ended, returns };
}

it("a return is under way as long as another process may take to notice, even if one of its probes is lost", () => {
  const { clock, ended, returns } = setup();
  expect([returns.isUnderWay, returns.isEnding]).toEqual([false, false]);
  returns.begin("a", -500, 700);
  clock.advance(holdMs(700, DEADLINE_MS) - 1);
  expect([returns.isUnderWay, returns.isEnding, returns.awaySinceMs("a"), ended]).toEqual([true, true, -500, []]);
  clock.advance(1);
  expect([returns.isUnderWay, returns.isEnding, returns.awaySinceMs("a"), ended]).toEqual([
    false,
    false,
    undefined,
    ["a"],
  ]);
});

it("that is the longer, the longer the store can have been away, within bounds", () => {
  expect([0, 200].map((ms) => holdMs(ms, DEADLINE_MS))).toEqual([275, 275]);
  for (const ms of [250, 700, 1000, 2500, 3800]) {
    const hold = holdMs(ms, DEADLINE_MS);
    // The other one's pauses grow until the last of them begins.
    expect(hold).toBeGreaterThanOrEqual(2 * (longestProbePauseMs(ms + hold - 1) + DEADLINE_MS) + 50 - 0.01);
    expect(hold).toBeLessThanOrEqual(holdMs(ms + 100, DEADLINE_MS));
  }
  expect([10_000, Number.POSITIVE_INFINITY].map((ms) => holdMs(ms, DEADLINE_MS))).toEqual([1400, 1400]);
  expect([10, 2000].map((deadlineMs) => holdMs(0, deadlineMs))).toEqual([155, 5300]);
});

it("a short absence after a long one, which some may not have seen the end of, ends no sooner than the long one", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0, 60_000);
  clock.advance(100);
  returns.putOff("a");
  clock.advance(200);
  returns.begin("a", 100, 200);
  clock.advance(1400 - 301);
  expect([returns.awaySinceMs("a"), ended]).toEqual([100, []]);
  clock.advance(1);
  expect(ended).toEqual(["a"]);
});

it("nodes return each by itself", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0, LONG_MS);
  clock.advance(1000);
  returns.begin("b", 900, LONG_MS);
  clock.advance(400);
  expect([ended, returns.isUnderWay, returns.awaySinceMs("b")]).toEqual([["a"], true, 900]);
  clock.advance(1000);
  expect([ended, returns.isUnderWay]).toEqual([["a", "b"], false]);
});

it("a node that goes away again is held until it has come back for long enough", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0, LONG_MS);
  clock.advance(1000);
  returns.putOff("a");
  clock.advance(60_000);
  expect([returns.isUnderWay, returns.isEnding, ended]).toEqual([true, false, []]);
  returns.begin("a", 1000, LONG_MS);
  clock.advance(1000);
  expect(returns.isUnderWay).toBe(true);
  clock.advance(1000);
  expect([returns.isUnderWay, ended]).toEqual([false, ["a"]]);
});

it("a node that is asked no more returns no more, and nothing is left of it", () => {
  const { clock, ended, returns } = setup();
  returns.begin("a", 0, LONG_MS);
  returns.cancel("a");
  returns.cancel("never heard of");
  returns.begin("b", 0, LONG_MS);
  returns.close();
  // A probe may be answered while the limiter is being closed.
  returns.begin("c", 0, LONG_MS);
  expect([returns.isUnderWay, clock.pendingTimers]).toEqual([false, 0]);
  clock.advance(10_000);
  expect(ended).toEqual([]);
});
