import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import * as http2 from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type Admission,
  type AdmissionListenerOptions,
  type AdmittedListener,
  createAdmission,
  deadlineHeaders,
  withAdmission,
} from "../index.ts";

const SOON = { interval: 1, timeout: 5000 };

interface Served {
  readonly admission: Admission;
  readonly port: number;
  readonly url: string;
}

async function serve(
  listener: AdmittedListener,
  options: AdmissionListenerOptions = {},
  admission: Admission = createAdmission({ slots: 1, lineMs: 0 }),
): Promise<Served> {
  const server: Server = createServer(withAdmission(admission, listener, options));
  const url = await listen(server);
  return { admission, port: (server.address() as AddressInfo).port, url };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The process warnings of a test, in place of the process. */
function heardWarnings(): unknown[][] {
  const spy = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => spy.mockRestore());
  return spy.mock.calls;
}

/** Handlers that end when the test says so. */
function held() {
  const ends: (() => void)[] = [];
  const listener: AdmittedListener = (_request, response) => void ends.push(() => response.end("done"));
  return { ends, listener };
}

describe("a listener of node:http with admission", () => {
  it("answers what it lets in, and the rest with 503 and when to come back", async () => {
    const { ends, listener } = held();
    const { admission, url } = await serve(listener);
    const first = fetch(url);
    await expect.poll(() => ends.length, SOON).toBe(1);
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual([
      503,
      "1",
      null,
    ]);
    expect(refused.headers.get("retry-after-ms")).toMatch(/^\d+$/);
    expect(await refused.json()).toEqual({ error: "overloaded", reason: "line_full" });
    ends[0]?.();
    expect(await (await first).text()).toBe("done");
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
  });

  it("serves health and metrics paths whatever happens, and the paths that it is told to", async () => {
    const { ends, listener } = held();
    const paths: unknown[] = [];
    const watch: AdmittedListener = (incoming, response, permit) => {
      if (permit !== undefined) return listener(incoming, response, permit);
      paths.push(incoming.url);
      response.end("up");
    };
    const { url } = await serve(watch);
    void fetch(url).catch(() => {});
    await expect.poll(() => ends.length, SOON).toBe(1);
    for (const path of ["/health", "/health/live", "/healthz?verbose", "/metrics"])
      expect((await fetch(url + path)).status).toBe(200);
    expect((await fetch(`${url}/healthcare`)).status).toBe(503);
    expect(paths).toHaveLength(4);
    ends[0]?.();
    const other = await serve(watch, { exempt: ["/internal/*"] });
    void fetch(other.url).catch(() => {});
    await expect.poll(() => ends.length, SOON).toBe(2);
    expect((await fetch(`${other.url}/internal/a`)).status).toBe(200);
    expect((await fetch(`${other.url}/health`)).status).toBe(503);
  });

  it("gives the slot back when the caller hangs up while the work goes on, and counts it as wasted", async () => {
    const { ends, listener } = held();
    const { admission, url } = await serve(listener);
    const abort = new AbortController();
    const gone = fetch(url, { signal: abort.signal });
    await expect.poll(() => ends.length, SOON).toBe(1);
    abort.abort();
    await expect(gone).rejects.toThrow();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, wasted: 1 });
    ends[0]?.();
    expect(admission.stats()).toMatchObject({ active: 0, admitted: 1 });
  });

  it("takes a caller who hangs up out of the line, and never calls the handler for it", async () => {
    const { ends, listener } = held();
    const { admission, url } = await serve(listener, {}, createAdmission({ slots: 1, lineMs: 1000, waitMs: 10_000 }));
    const first = fetch(url);
    await expect.poll(() => ends.length, SOON).toBe(1);
    const abort = new AbortController();
    const gone = fetch(url, { signal: abort.signal });
    await expect.poll(() => admission.stats().waiting, SOON).toBe(1);
    abort.abort();
    await expect(gone).rejects.toThrow();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ waiting: 0, shed: { cancelled: 1 } });
    ends[0]?.();
    await first;
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
    expect(ends).toHaveLength(1);
  });

  it("gives back the slots of pipelined requests whose replies had not begun when the connection went", async () => {
    const { ends, listener } = held();
    const { admission, port } = await serve(listener, {}, createAdmission({ slots: 4, lineMs: 1000 }));
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /1 HTTP/1.1\r\nhost: a\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3));
    await expect.poll(() => [ends.length, admission.stats().waiting], SOON).toEqual([4, 2]);
    socket.destroy();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, waiting: 0 });
  });

  it("lets nobody in whose connection went while something else came first, pipelined or not", async () => {
    const admission = createAdmission({ slots: 4 });
    let ran = 0;
    const admitted = withAdmission(admission, () => void ran++);
    const laters: (() => void)[] = [];
    const server = createServer((incoming, response) => void laters.push(() => admitted(incoming, response)));
    await listen(server);
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const [connection] = await once(server, "connection");
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(3));
    await expect.poll(() => laters.length, SOON).toBe(3);
    const ended = once(connection, "close");
    socket.destroy();
    await ended;
    for (const later of laters) later();
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect([admission.stats().active, admission.stats().admitted, ran]).toEqual([0, 0, 0]);
  });

  it("watches a connection with one listener, however many requests are pipelined on it", async () => {
    const { ends, listener } = held();
    let most = 0;
    const watch: AdmittedListener = (incoming, response, permit) => {
      most = Math.max(most, incoming.socket.listenerCount("close"));
      listener(incoming, response, permit);
    };
    const { admission, port } = await serve(watch, {}, createAdmission({ slots: 100 }));
    const socket = connect(port, "127.0.0.1").resume();
    onTestFinished(() => void socket.destroy());
    socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(50));
    await expect.poll(() => ends.length, SOON).toBe(50);
    // Node itself has some.
    expect(most).toBeLessThan(5);
    for (const end of ends) end();
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
  });

  it("does not take a slow reader for slow work", async () => {
    const body = Buffer.alloc(20 * 1024 * 1024);
    const { admission, url } = await serve((_request, response) => void response.end(body));
    const [response] = (await once(request(url).end(), "response")) as [IncomingMessage];
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(admission.stats().active).toBe(1);
    response.resume();
    await once(response, "end");
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
    expect(admission.stats().holdMs).toBeGreaterThan(290);
    expect(admission.stats().workMs).toBeLessThan(200);
  });

  it("takes the slot of a slow reader back when the handler says so, once", async () => {
    const body = Buffer.alloc(20 * 1024 * 1024);
    const { admission, url } = await serve((_request, response, permit) => {
      response.end(body);
      permit?.release();
    });
    const [response] = (await once(request(url).end(), "response")) as [IncomingMessage];
    expect(admission.stats().active).toBe(0);
    const second = admission.acquireNow();
    response.resume();
    await once(response, "end");
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect([second?.admitted, admission.stats().active]).toEqual([true, 1]);
  });

  it("passes the deadline to the handler, less what has passed, and refuses one that is past", async () => {
    const told: unknown[] = [];
    const { admission, url } = await serve((_request, response, permit) => {
      told.push(deadlineHeaders(permit));
      response.end();
    });
    await (await fetch(url, { headers: { "x-request-deadline-ms": "5000" } })).text();
    expect(told).toEqual([{ "x-request-deadline-ms": expect.stringMatching(/^4\d{3}$/) }]);
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
    const past = await fetch(url, { headers: { "x-request-deadline-ms": "0" } });
    expect([past.status, past.headers.get("x-should-retry")]).toEqual([503, "false"]);
    expect(await past.json()).toEqual({ error: "overloaded", reason: "deadline" });
  });

  it("takes the cost from the request, and tells of refusals", async () => {
    const { ends, listener } = held();
    const shed: unknown[] = [];
    const { admission, url } = await serve(
      listener,
      {
        cost: ({ url: path }) => (path === "/big" ? 3 : 1),
        onShed: ({ url: path }, { reason }) => void shed.push([path, reason]),
        problemJson: true,
      },
      createAdmission({ slots: 4, lineMs: 0 }),
    );
    const [big, small] = [fetch(`${url}/big`), fetch(`${url}/small`)];
    await expect.poll(() => admission.stats().active, SOON).toBe(4);
    const refused = await fetch(`${url}/third`);
    expect(refused.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(shed).toEqual([["/third", "line_full"]]);
    for (const end of ends) end();
    await Promise.all([big, small]);
  });

  const wordless = (): never => {
    throw Object.create(null);
  };
  const boom = (): never => {
    throw new Error("boom");
  };

  it.each<[string, AdmissionListenerOptions, RegExp]>([
    ["cost throws", { cost: boom }, /Error: boom/],
    ["cost gives no cost", { cost: ({ headers }) => Number(headers["x-cost"]) }, /got NaN/],
    ["readDeadline throws", { readDeadline: boom }, /Error: boom/],
    ["onShed throws", { onShed: boom }, /Error: boom/],
    ["onShed throws what has no text", { onShed: wordless }, /an object of no class/],
  ])("answers 500 when %s, lets nobody in for it, and warns once", async (_title, options, fault) => {
    const warnings = heardWarnings();
    const admission = createAdmission({ slots: 1, lineMs: 0 });
    let ran = 0;
    const { url } = await serve(() => void ran++, options, admission);
    if (options.onShed !== undefined) await admission.close();
    for (let i = 0; i < 2; i++) {
      const failed = await fetch(url, { headers: { "x-cost": "abc", "x-request-deadline-ms": "5000" } });
      expect([failed.status, await failed.json()]).toEqual([500, { error: "internal" }]);
    }
    expect(warnings).toEqual([[expect.stringMatching(fault), expect.anything()]]);
    expect([admission.stats().active, ran]).toEqual([0, 0]);
  });

  it("survives an onShed that rejects, or that has replied itself, out of the line too", async () => {
    const warnings = heardWarnings();
    const { ends, listener } = held();
    const onShed: AdmissionListenerOptions["onShed"] = ({ url: path }) => {
      if (path === "/own") replies.get(path)?.writeHead(429).end();
      else return Promise.reject(new Error("boom")) as never;
    };
    const replies = new Map<string | undefined, ServerResponse>();
    const admission = createAdmission({ slots: 1, waitMs: 20 });
    const admitted = withAdmission(admission, listener, { onShed });
    const server = createServer((incoming, response) => {
      replies.set(incoming.url, response);
      admitted(incoming, response);
    });
    const url = await listen(server);
    const first = fetch(url);
    await expect.poll(() => ends.length, SOON).toBe(1);
    expect((await fetch(`${url}/rejects`)).status).toBe(503);
    expect((await fetch(`${url}/own`)).status).toBe(429);
    expect(warnings).toEqual([[expect.stringContaining("boom"), expect.anything()]]);
    ends[0]?.();
    await first;
  });

  it("leaves to Node what the listener throws", async () => {
    const admission = createAdmission({ slots: 1, mode: "off" });
    const admitted = withAdmission(admission, boom);
    const thrown: unknown[] = [];
    const server = createServer((incoming, response) => {
      try {
        admitted(incoming, response);
      } catch (error) {
        thrown.push(error);
        response.end("caught");
      }
    });
    expect(await (await fetch(await listen(server))).text()).toBe("caught");
    expect([thrown, admission.stats().active]).toEqual([[new Error("boom")], 0]);
  });

  it("works over HTTP/2, whose replies say less about themselves", async () => {
    const admission = createAdmission({ slots: 1, lineMs: 0 });
    const { ends, listener } = held();
    const server = http2.createServer(withAdmission(admission, listener) as never);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      client.destroy();
      server.close();
    });
    const first = client.request({ ":path": "/" });
    await expect.poll(() => ends.length, SOON).toBe(1);
    const [headers] = await once(client.request({ ":path": "/" }), "response");
    expect(headers).toMatchObject({ ":status": 503, "retry-after": "1" });
    ends[0]?.();
    expect(await text(first)).toBe("done");
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, wasted: 0 });
    const cut = client.request({ ":path": "/" });
    await expect.poll(() => ends.length, SOON).toBe(2);
    cut.close();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, wasted: 1 });
  });

  it.each<[string, unknown[]]>([
    ["admission", [{}, () => {}]],
    ["listener", [createAdmission(), "no function"]],
    ["options.exempted", [createAdmission(), () => {}, { exempted: [] }]],
    ["exempt", [createAdmission(), () => {}, { exempt: ["health"] }]],
    ["exempt", [createAdmission(), () => {}, { exempt: "/health" }]],
    ["cost", [createAdmission(), () => {}, { cost: 3 }]],
    ["onShed", [createAdmission(), () => {}, { onShed: true }]],
    ["problemJson", [createAdmission(), () => {}, { problemJson: 1 }]],
    ["deadlineMs", [createAdmission(), () => {}, { deadlineMs: 0 }]],
  ])("refuses a bad %s by name", (name, args) => {
    expect(() => withAdmission(...(args as Parameters<typeof withAdmission>))).toThrow(`Option ${name} must be`);
  });
});
