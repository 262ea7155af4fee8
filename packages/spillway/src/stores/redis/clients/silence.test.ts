import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Silences } from "./silence.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const connection = {};
const never = (): Promise<never> => new Promise(() => {});

it("a connection without calls is never silent for too long", async () => {
  const silences = new Silences();
  await silences.during(connection, async () => {});
  vi.advanceTimersByTime(60_000);
  expect(silences.isTooLong(connection)).toBe(false);
});

it("a call that waits for more than 0.9 s makes it so, from when it was sent", () => {
  const silences = new Silences();
  void silences.during(connection, never);
  vi.advanceTimersByTime(900);
  expect(silences.isTooLong(connection)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(silences.isTooLong(connection)).toBe(true);
  expect(silences.isTooLong({})).toBe(false);
});

it("later calls do not put it off, any outcome of one does", async () => {
  const silences = new Silences();
  void silences.during(connection, never);
  vi.advanceTimersByTime(800);
  let fail = (): void => {};
  const failing = silences.during(connection, () => new Promise((_, reject) => (fail = () => reject(new Error("no")))));
  vi.advanceTimersByTime(200);
  expect(silences.isTooLong(connection)).toBe(true);
  fail();
  await expect(failing).rejects.toThrow("no");
  expect(silences.isTooLong(connection)).toBe(false);
  vi.advanceTimersByTime(1501);
  expect(silences.isTooLong(connection)).toBe(true);
});
