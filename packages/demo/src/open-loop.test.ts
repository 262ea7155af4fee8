import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { FreshConnections } from "./fresh-connections.ts";
import { LoadTally } from "./load-result.ts";
import { runOneByOne, runOpenLoop } from "./open-loop.ts";
import { type PreparedRequest, prepareRequest, type RequestSender } from "./request-sender.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(answer: Parameters<typeof createServer>[1]): Promise<PreparedRequest> {
  server = createServer(answer as never);
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return prepareRequest(new URL(`http://127.0.0.1:${port}/exact`), { "x-api-key": "k" });
}

async function load(request: PreparedRequest, dueMs: readonly number[], ended?: AbortSignal) {
  const tally = new LoadTally(1);
  await runOpenLoop(new FreshConnections(request), dueMs, tally, ended);
  return tally.result();
}

describe("runOpenLoop", () => {
  it("sends every request on a connection of its own, with its fields", async () => {
    const seen: string[] = [];
    const ports = new Set<number>();
    const request = await serve((incoming, outgoing) => {
      ports.add(incoming.socket.remotePort ?? 0);
      seen.push(`${incoming.method} ${incoming.url} ${incoming.headers["x-api-key"]} ${incoming.headers.connection}`);
      outgoing.setHeader("x-worker", "w").end("ok");
    });
    expect(await load(request, [0, 1, 2, 3, 4])).toMatchObject({
      offered: 5,
      statuses: { 200: 5 },
      admittedPerWorker: { w: 5 },
    });
    expect(seen).toEqual(new Array(5).fill("GET /exact k close"));
    expect(ports.size).toBe(5);
  });

  it("hides no stall: it goes on sending while the server stands still, and the waiting shows in the latency", async () => {
    const held: (() => void)[] = [];
    const request = await serve((_incoming, outgoing) => {
      held.push(() => outgoing.end());
      if (held.length === 20) for (const release of held) release();
    });
    // 20 requests over 190 ms, all answered together once the last is there: half of them have waited about 95 ms.
    const due = Array.from({ length: 20 }, (_, index) => index * 10);
    const { latency, offered, scheduleError } = await load(request, due);
    expect(offered).toBe(20);
    expect(latency.p50Ms).toBeGreaterThan(80);
    expect(latency.maxMs).toBeGreaterThan(180);
    expect(scheduleError.p50Ms).toBeLessThan(50);
  });

  it("counts what is refused or cut off as failures", async () => {
    const request = await serve((incoming) => incoming.socket.destroy());
    const cut = await load(request, [0, 1]);
    expect(Object.values(cut.failures).reduce((sum, count) => sum + count, 0)).toBe(2);
    server?.close();
    const refused = await load({ ...request, port: 1 }, [0]);
    expect(refused.failures).toEqual({ ECONNREFUSED: 1 });
  });
});

describe("a load that is behind its schedule", () => {
  it("still reads answers between what it sends", async () => {
    let answered = 0;
    let answeredAtLast = 0;
    const slow: RequestSender = {
      send(onEnd) {
        const untilMs = performance.now() + 5;
        while (performance.now() < untilMs);
        answeredAtLast = answered;
        setImmediate(() => {
          answered++;
          onEnd({ answer: { status: 200, worker: "w", decision: undefined } });
        });
        return () => {};
      },
      close() {},
    };
    // One is due every millisecond and takes five.
    await runOpenLoop(
      slow,
      Array.from({ length: 20 }, (_, index) => index),
      new LoadTally(1),
    );
    expect(answeredAtLast).toBeGreaterThan(0);
  });

  it("ends early when it is told to", async () => {
    const ended = new AbortController();
    const request = await serve((_incoming, outgoing) => {
      ended.abort();
      outgoing.end();
    });
    const startMs = performance.now();
    const { offered } = await load(request, [0, 3000], ended.signal);
    expect(offered).toBe(1);
    expect(performance.now() - startMs).toBeLessThan(2500);
  });
});

describe("runOneByOne", () => {
  it("waits for each answer before it sends the next request", async () => {
    let open = 0;
    let most = 0;
    const request = await serve((_incoming, outgoing) => {
      most = Math.max(most, ++open);
      setImmediate(() => {
        open -= 1;
        outgoing.end();
      });
    });
    expect(await runOneByOne(new FreshConnections(request), 5)).toHaveLength(5);
    expect(most).toBe(1);
  });
});
