import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { breakableRoute, directRoute, openBreakableRoute } from "./store-route.ts";

const OUTAGE = { from: 0.4, to: 0.7 };
let steps: string[] = [];

const proxy = {
  url: "redis://127.0.0.1:7777",
  cut: async () => void steps.push("cut"),
  mend: async () => void steps.push("mend"),
  stop: async () => void steps.push("stop"),
};

beforeEach(() => {
  steps = [];
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("a breakable route", () => {
  it("is cut from 40 % to 70 % of the run", async () => {
    const end = breakableRoute(proxy, "redis://store:6379", OUTAGE).begin(10);
    await vi.advanceTimersByTimeAsync(3999);
    expect(steps).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(steps).toEqual(["cut"]);
    await vi.advanceTimersByTimeAsync(2999);
    expect(steps).toEqual(["cut"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(steps).toEqual(["cut", "mend"]);
    await end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is whole again for the next run, also when a run ends early", async () => {
    const end = breakableRoute(proxy, "redis://store:6379", OUTAGE).begin(10);
    await vi.advanceTimersByTimeAsync(5000);
    await end();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(steps).toEqual(["cut", "mend"]);
  });

  it("is closed and opened again by hand, one step after the other", async () => {
    const { setReachable } = breakableRoute(proxy, "redis://store:6379", OUTAGE);
    await Promise.all([setReachable?.(false), setReachable?.(true)]);
    expect(steps).toEqual(["cut", "mend"]);
  });

  it("keeps credentials and database of the store's address", () => {
    const { url } = breakableRoute(proxy, "redis://me:secret@store:6379/3", OUTAGE);
    expect(url).toBe("redis://me:secret@127.0.0.1:7777/3");
  });

  it("cannot lead to an encrypted store", async () => {
    await expect(openBreakableRoute("rediss://store:6379", OUTAGE)).rejects.toThrow("encrypted");
  });
});

describe("a direct route", () => {
  it("leads to the store itself and never breaks", async () => {
    const route = directRoute("redis://store:6379");
    expect(route.url).toBe("redis://store:6379");
    expect(route.setReachable).toBeUndefined();
    const end = route.begin(10);
    expect(vi.getTimerCount()).toBe(0);
    await end();
  });
});
