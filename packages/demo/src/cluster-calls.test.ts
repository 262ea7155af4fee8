import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { ClusterCallCounter } from "./cluster-calls.ts";

describe("ClusterCallCounter", () => {
  it("counts the store's calls, and none of the demo's own messages", async () => {
    const cluster = new EventEmitter();
    const counter = new ClusterCallCounter(cluster);
    const worker = {};
    for (const message of [
      { spillway: 1, id: 1, method: "take", args: [] },
      { spillway: 1, id: 2, method: "take", args: [] },
      { type: "ready", port: 1, method: "take" },
      { type: "answers", seconds: [] },
      "text",
      null,
    ])
      cluster.emit("message", worker, message);
    expect(await counter.look()).toBe(2);
    counter.close();
    cluster.emit("message", worker, { spillway: 1, id: 3, method: "take", args: [] });
    expect(await counter.look()).toBe(2);
    expect(cluster.listenerCount("message")).toBe(0);
  });
});
