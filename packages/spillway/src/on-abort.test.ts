import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onAbort } from "./on-abort.ts";

it("those who wait for one signal share a listener, and what is taken back meanwhile is not called", () => {
  const abort = new AbortController();
  const called: string[] = [];
  onAbort(abort.signal, () => {
    called.push("first");
    takeBack();
  });
  const takeBack = onAbort(abort.signal, () => called.push("taken back"));
  onAbort(abort.signal, () => called.push("last"));
  expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
  abort.abort();
  expect(called).toEqual(["first", "last"]);
});
