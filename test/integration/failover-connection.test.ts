import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@spillway/testkit";
import { describe, expect, it } from "vitest";
import { failoverScene, type SceneOptions } from "./failover-scene.ts";

const PATIENT: SceneOptions = {
  policies: { name: "hour", limit: 1_000, period: "1h" },
  lease: false,
  deadlineMs: 2_000,
};

describe("the connection of a limiter", () => {
  it("is there for the first decision: it is begun with the store and waited for within the deadline", async () => {
    const { limiter } = await failoverScene(PATIENT);
    expect(await limiter.consume("k")).toMatchObject({ source: "store", remaining: 999 });
    expect(limiter.stats()).toMatchObject({ storeMisses: 0, storeFaults: 0 });
  });

  it("is made anew by the next decision when it was lost while nobody asked", async () => {
    const { proxy, limiter, changes } = await failoverScene(PATIENT);
    await limiter.consume("k");
    await proxy.cut();
    await proxy.mend();
    await sleep(200);
    expect(proxy.connections).toBe(0); // Nothing reconnects for nobody.
    expect(await limiter.consume("k")).toMatchObject({ source: "store", remaining: 998 });
    expect([changes, limiter.stats().storeFaults]).toEqual([[], 0]);
  });

  it("is made anew by the next decision when the server was restarted while nobody asked", async () => {
    const { server, limiter, changes } = await failoverScene(PATIENT);
    await limiter.consume("k");
    await server.restart();
    await sleep(100);
    expect(await limiter.consume("k")).toMatchObject({ source: "store", remaining: 999 });
    expect(changes).toEqual([]);
  });

  it("is found by a probe when the server was away while somebody asked and nobody does since", async () => {
    const { server, limiter, changes } = await failoverScene(PATIENT);
    await limiter.consume("k");
    await server.kill();
    expect(await limiter.consume("k")).toMatchObject({ degraded: true });
    await limiter.consume("k");
    expect(changes.map(({ state }) => state)).toEqual(["away"]);
    await server.restart();
    await eventually(() => limiter.stats().health.nodes[0]?.state === "trying", { withinMs: 5_000 });
    // A key that was in use has no more than its share of the limit for a while.
    expect(await limiter.consume("new")).toMatchObject({ source: "store" });
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
  });

  it("is given up when the other end is gone without a word, and another one is made", {
    timeout: 30_000,
  }, async () => {
    const { proxy, limiter, changes, back } = await failoverScene({ ...PATIENT, deadlineMs: 100 });
    await back();
    proxy.strand();
    for (let i = 0; i < 3; i++) expect(await limiter.consume("k")).toMatchObject({ degraded: true });
    expect((await back()).source).toBe("store");
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
  });

  it("is not the user's: a duplicate is used, and closing leaves the user's client alone", async () => {
    const { admin, client, limiter } = await failoverScene(PATIENT);
    await client.connect();
    await client.client("SETNAME", "the-users");
    await limiter.consume("k");
    const clients = String(await admin.client("LIST"))
      .trim()
      .split("\n");
    expect(clients.filter((line) => line.includes("cmd=evalsha") || line.includes("cmd=eval"))).toHaveLength(1);
    expect(clients.find((line) => line.includes("name=the-users"))).not.toMatch(/cmd=eval/);
    await limiter.close();
    expect(await client.ping()).toBe("PONG");
  });
});

describe("the moment at which a store is tried again", () => {
  it("C21 b: lets one of a hundred concurrent calls through, and the next hundred once that is answered", async () => {
    const { server, proxy, limiter, changes, back } = await failoverScene(PATIENT);
    await limiter.consume("k");
    await server.kill();
    while (changes.length === 0) await limiter.consume("k");
    await server.restart();
    await eventually(() => limiter.stats().health.nodes[0]?.state === "trying", { withinMs: 5_000 });
    proxy.commands.clear();
    proxy.delay(100);
    const first = Array.from({ length: 100 }, (_, i) => limiter.consume(`key-${i}`));
    await new Promise(setImmediate);
    const second = Array.from({ length: 100 }, (_, i) => limiter.consumeNow(`key-${i}`));
    expect(second.every((decision) => decision?.source === "backstop")).toBe(true);
    expect((await Promise.all(first)).every(({ source }) => source === "store")).toBe(true);
    proxy.delay(0);
    // One script call carried all hundred keys; a forgotten script is sent as text after it.
    expect(proxy.commands.get("EVALSHA")).toBe(1);
    expect(changes.map(({ state }) => state)).toEqual(["away", "back"]);
    expect((await back()).source).toBe("store");
  });
});
