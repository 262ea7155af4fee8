import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { DecisionRecorder } from "./decision-recorder.ts";
import { ReplicaFleet } from "./replica-fleet.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

describe("ReplicaFleet", () => {
  it("waits until the replicas answer, and asks each of them for its decisions", async () => {
    const asked: (string | undefined)[] = [];
    server = createServer((request, response) => {
      asked.push(request.url);
      // The first look comes too early.
      if (asked.length === 1) response.writeHead(503).end();
      else response.end(JSON.stringify({ worker: "replica-1", record: new DecisionRecorder().take() }));
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const replicas = new URL(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const balancer = new URL("http://balancer:8080/");
    const fleet = await ReplicaFleet.find({ balancer, replicas }, 1, "exact", AbortSignal.timeout(5000));
    expect(fleet.names).toEqual(["replica-1"]);
    expect(fleet.urlOf("exact")).toBe("http://balancer:8080/exact");
    expect(await fleet.collect("exact")).toMatchObject({ decisions: 0, degraded: 0 });
    expect(asked).toEqual(new Array(3).fill("/decisions/exact"));
  });

  it("gives up when it is told to", async () => {
    const nowhere = new URL("http://127.0.0.1:1/");
    const found = ReplicaFleet.find({ balancer: nowhere, replicas: nowhere }, 1, "exact", AbortSignal.timeout(50));
    await expect(found).rejects.toMatchObject({ name: "AbortError" });
  });
});
