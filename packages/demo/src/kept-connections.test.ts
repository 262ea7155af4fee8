import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { CONNECTIONS_EACH, KeptConnections } from "./kept-connections.ts";
import { prepareRequest, type RequestEnd, type RequestSender } from "./request-sender.ts";

let server: Server | undefined;
const senders: RequestSender[] = [];

afterEach(() => {
  for (const sender of senders.splice(0)) sender.close();
  server?.closeAllConnections();
  server?.close();
});

const inTurn = (count: number) => `w${count % 2}`;

/**
 * A server whose connections belong to two workers.
 * @param dealt the worker of the next connection after so many; in turn, as `node:cluster` does it.
 */
async function serve(
  answer: (worker: string, ...args: Parameters<RequestListener>) => void,
  dealt: (count: number) => string = inTurn,
): Promise<URL> {
  const workers = new Map<Socket, string>();
  server = createServer((request, response) => {
    const worker = workers.get(request.socket) ?? dealt(workers.size);
    workers.set(request.socket, worker);
    response.setHeader("x-worker", worker);
    if (request.headers["x-api-key"] === "greeting") response.end("hello");
    else answer(worker, request, response);
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/lease`);
}

async function open(url: URL, servers = 2): Promise<RequestSender> {
  const request = (key: string) => prepareRequest(url, { "x-api-key": key }, "keep-alive");
  const sender = await KeptConnections.open(request("load"), request("greeting"), servers);
  senders.push(sender);
  return sender;
}

function sendAll(sender: RequestSender, count: number): Promise<RequestEnd[]> {
  return Promise.all(Array.from({ length: count }, () => new Promise<RequestEnd>((resolve) => sender.send(resolve))));
}

describe("KeptConnections", () => {
  it.each([
    ["in turn", inTurn],
    ["three to one", (count: number) => (count % 4 === 0 ? "w1" : "w0")],
  ])("deals requests out to the servers in turn, where connections go to them %s", async (_title, dealt) => {
    const ports = { w0: new Set<number>(), w1: new Set<number>() };
    const url = await serve((worker, request, response) => {
      ports[worker as "w0"].add(request.socket.remotePort ?? 0);
      response.end();
    }, dealt);
    const sender = await open(url);
    const workers: string[] = [];
    for (let round = 0; round < CONNECTIONS_EACH; round++)
      for (const end of await sendAll(sender, 2)) workers.push("answer" in end ? end.answer.worker : end.failure);
    expect(workers.filter((worker) => worker === "w0")).toHaveLength(CONNECTIONS_EACH);
    expect(workers.filter((worker) => worker === "w1")).toHaveLength(CONNECTIONS_EACH);
    expect([ports.w0.size, ports.w1.size]).toEqual([CONNECTIONS_EACH, CONNECTIONS_EACH]);
  });

  it("sends on while all connections wait for answers", async () => {
    const held: (() => void)[] = [];
    const count = 2 * CONNECTIONS_EACH;
    const url = await serve((_worker, _request, response) => {
      held.push(() => response.end());
      // As many as there are connections, so all of them; what is sent behind is answered at once.
      if (held.length === count) for (const release of held) release();
      else if (held.length > count) response.end();
    });
    const ends = await sendAll(await open(url), count + 10);
    expect(ends.every((end) => "answer" in end && end.answer.status === 200)).toBe(true);
  });

  it("gives each request the answer to it, not to one that was sent before or after it", async () => {
    const held: (() => void)[] = [];
    const seen = new Map<Socket, number>();
    const count = 2 * CONNECTIONS_EACH;
    const url = await serve((_worker, request, response) => {
      const place = (seen.get(request.socket) ?? 0) + 1;
      seen.set(request.socket, place);
      response.statusCode = place === 1 ? 200 : 429;
      held.push(() => response.end());
      if (held.length === 2 * count) for (const release of held) release();
    });
    // Each connection carries two, and the later half of what is sent comes second.
    const ends = await sendAll(await open(url), 2 * count);
    const statuses = ends.map((end) => ("answer" in end ? end.answer.status : end.failure));
    expect(statuses).toEqual([...new Array(count).fill(200), ...new Array(count).fill(429)]);
  });

  it("tells of every request on a lost connection, and goes on with the others", async () => {
    let served = 0;
    const url = await serve((_worker, request, response) => {
      if (served++ === 0) request.socket.destroy();
      else response.end();
    });
    const sender = await open(url);
    const [lost] = await sendAll(sender, 1);
    expect(lost).toEqual({ failure: expect.stringMatching(/^(CLOSED_EARLY|ECONNRESET)$/) });
    const ends = await sendAll(sender, 50);
    expect(ends.every((end) => "answer" in end)).toBe(true);
  });

  it("fails what is sent when all servers are gone, and never before send returns", async () => {
    const sender = await open(await serve((_worker, _request, response) => response.end()));
    server?.closeAllConnections();
    await expect.poll(async () => "failure" in (await sendAll(sender, 1))[0]!).toBe(true);
    // All of them are closed by now, or are closed by this.
    await sendAll(sender, 4 * CONNECTIONS_EACH);
    let returned = false;
    const toldAfter = await new Promise<boolean>((resolve) => {
      sender.send((end) => resolve(returned && "failure" in end));
      returned = true;
    });
    expect(toldAfter).toBe(true);
  });

  it("gives one request up without losing count of the answers behind it", async () => {
    const url = await serve((_worker, _request, response) => response.end());
    const sender = await open(url);
    const given = new Promise<RequestEnd>((resolve) => sender.send(resolve)());
    expect(await given).toEqual({ failure: "GIVEN_UP" });
    const ends = await sendAll(sender, 40);
    expect(ends.every((end) => "answer" in end)).toBe(true);
  });

  it("cannot be opened when a server is missing, or nobody answers", async () => {
    const url = await serve((_worker, _request, response) => response.end());
    await expect(open(url, 3)).rejects.toThrow("each of 3 servers");
    server?.close();
    server?.closeAllConnections();
    await expect(open(url)).rejects.toThrow("ECONNREFUSED");
  });
});
