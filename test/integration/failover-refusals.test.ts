import { describe, expect, it } from "vitest";
import { failoverScene, remainingOf, type SceneOptions } from "./failover-scene.ts";

const PATIENT: SceneOptions = {
  policies: { name: "hour", limit: 10, period: "1h" },
  lease: false,
  deadlineMs: 2_000,
  replicas: 5,
};

describe("a store that says no", () => {
  it("C13 a: as a replica is left alone, and decides again by itself when it is a primary again", async () => {
    const { admin, limiter, changes, back } = await failoverScene(PATIENT);
    await limiter.consume("seen");
    await admin.replicaof("127.0.0.1", "1");
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("k")));
    expect(decisions.every(({ source }) => source === "backstop")).toBe(true);
    // A fifth of the burst, not everything.
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2);
    expect(changes.map(({ state, reason }) => [state, /READONLY/.test(reason)])).toEqual([["away", true]]);
    await admin.replicaof("NO", "ONE");
    expect((await back()).source).toBe("store");
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
  });

  it("C15 b: for lack of room keeps no half of a decision, and goes on when there is room", async () => {
    const { admin, limiter, changes, back } = await failoverScene({
      ...PATIENT,
      policies: [
        { name: "hour", limit: 10, period: "1h" },
        { name: "day", limit: 100, period: "1d", algorithm: "fixed-window" },
      ],
    });
    await limiter.consume("k");
    await admin.config("SET", "maxmemory", "1mb", "maxmemory-policy", "noeviction");
    for (let i = 0; i < 5; i++) expect(await limiter.consume("fresh")).toMatchObject({ degraded: true });
    expect(changes.map(({ state, reason }) => [state, /OOM/.test(reason)])).toEqual([["away", true]]);
    expect(await admin.keys("spillway:*fresh*")).toEqual([]);
    await admin.config("SET", "maxmemory", "0");
    await back();
    expect((await limiter.peek("k")).policies.map(({ remaining }) => remaining)).toEqual([9, 99]);
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
  });

  it.each([
    ["EVALSHA", "-evalsha", /lacks a permission.*evalsha/i],
    ["TIME", "-time", /lacks a permission.*can't run this command/i],
  ])("C15 c: for want of the right to %s names it once, and asks less and less often", async (_, right, said) => {
    const user = { username: "limiter", password: "secret" };
    const { admin, proxy, limiter, changes, back } = await failoverScene({
      ...PATIENT,
      redis: user,
      prepare: ({ admin: root }) =>
        root.call("ACL", "SETUSER", user.username, "on", `>${user.password}`, "~*", "+@all", right),
    });
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume("k")));
    expect(decisions.every(({ source }) => source === "backstop")).toBe(true);
    expect(changes.map(({ state, message }) => [state, said.test(message)])).toEqual([["away", true]]);
    proxy.commands.clear();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const scripts = (proxy.commands.get("EVALSHA") ?? 0) + (proxy.commands.get("EVAL") ?? 0);
    expect(scripts).toBeGreaterThan(0);
    expect(scripts).toBeLessThanOrEqual(17);
    await admin.call("ACL", "SETUSER", user.username, right.replace("-", "+"));
    expect((await back()).source).toBe("store");
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
    expect(await remainingOf(limiter, "never asked")).toBe(10);
  });
});
