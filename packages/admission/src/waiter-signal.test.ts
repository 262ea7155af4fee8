import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { fates, underTest } from "./test-support.ts";

it("a signal that many share has one listener while any of them waits, tells all of them, and has none after", () => {
  const { clock, crowd, enter, stats } = underTest({ slots: 2, lineMs: Infinity });
  const abort = new AbortController();
  const listeners = () => getEventListeners(abort.signal, "abort").length;
  const asked = { signal: abort.signal };
  const starting = [enter(asked), enter(asked)];
  const waiting = Array.from({ length: 20 }, () => enter(asked));
  const other = enter();
  expect(listeners()).toBe(1);
  starting[0]?.place?.leave();
  waiting[0]?.place?.leave();
  expect(listeners()).toBe(1);
  abort.abort();
  expect(fates(waiting.slice(1))).toEqual(Array(19).fill("cancelled"));
  expect(starting[1]?.fate).toBe("cancelled");
  clock.settle();
  expect([other.fate, stats().active, stats().waiting, listeners()]).toEqual(["in", 1, 0, 0]);
  expect(fates(crowd(1, asked))).toEqual(["cancelled"]);
});

it("a signal that is never aborted keeps no listener of those who went in", () => {
  const { crowd } = underTest({ slots: 2 });
  const { signal } = new AbortController();
  const visitors = crowd(2, { signal });
  expect([fates(visitors), getEventListeners(signal, "abort")]).toEqual([["in", "in"], []]);
});
