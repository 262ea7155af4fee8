import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ReplicaFleet } from "./replica-fleet.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

describe("ReplicaFleet", () => {
  it("waits until the replicas answer, and knows them by their names", async () => {
    const asked: (string | undefined)[] = [];
    server = createServer((request, response) => {
      asked.push(request.url);
      // The first look comes too early.
      if (asked.length === 1) response.writeHead(503).end();
      else response.end(JSON.stringify({ worker: "replica-1" }));
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const replicas = new URL(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const balancer = new URL("http://balancer:8080/");
    const fleet = await ReplicaFleet.find({ balancer, replicas }, 1, AbortSignal.timeout(5000));
    expect(fleet.names).toEqual(["replica-1"]);
    expect(fleet.urlOf("exact")).toBe("http://balancer:8080/exact");
    expect(asked).toEqual(["/health", "/health"]);
  });

  it("gives up when it is told to", async () => {
    const nowhere = new URL("http://127.0.0.1:1/");
    const found = ReplicaFleet.find({ balancer: nowhere, replicas: nowhere }, 1, AbortSignal.timeout(50));
    await expect(found).rejects.toMatchObject({ name: "AbortError" });
  });
});
