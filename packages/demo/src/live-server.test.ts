import { get } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { LoadOrder } from "./live-load.ts";
import { createLiveServer, type LiveServer, type LiveServerParts } from "./live-server.ts";

let server: LiveServer | undefined;
let done: unknown[] = [];

afterEach(() => server?.app.close());

function serve(change: Partial<LiveServerParts> = {}): LiveServer {
  done = [];
  server = createLiveServer({
    modes: ["exact", "lease"],
    page: () => "<p>page</p>",
    parts: () => ({ state: `after ${done.length}` }),
    startLoad: (order) => done.push(order),
    stopLoad: () => done.push("stop"),
    setReachable: async (reachable) => void done.push(reachable),
    ...change,
  });
  return server;
}

describe("the live server", () => {
  it("serves the page, and streams its parts: at once, and whenever they are published", async () => {
    const { app, publish } = serve();
    const page = await app.inject("/");
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.body).toBe("<p>page</p>");

    await app.listen({ host: "127.0.0.1", port: 0 });
    let text = "";
    get({ port: (app.server.address() as AddressInfo).port, path: "/figures" }, (response) => {
      expect(response.headers["content-type"]).toBe("text/event-stream");
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("error", () => {});
    }).on("error", () => {});
    await expect.poll(() => text).toBe('data: {"state":"after 0"}\n\n');
    done.push("something");
    publish();
    await expect.poll(() => text).toBe('data: {"state":"after 0"}\n\ndata: {"state":"after 1"}\n\n');
  });

  it("takes orders for load, and stops it", async () => {
    const { app } = serve();
    const order: LoadOrder = { mode: "lease", perSecond: 400, seconds: 60 };
    expect((await app.inject({ method: "POST", url: "/load", payload: order })).statusCode).toBe(202);
    const stopped = await app.inject({ method: "DELETE", url: "/load", payload: {} });
    expect(stopped.statusCode).toBe(202);
    expect(done).toEqual([order, "stop"]);
  });

  it.each([
    [{ mode: "quick", perSecond: 1, seconds: 1 }, "mode must be one of exact, lease."],
    [{ perSecond: 1, seconds: 1 }, "mode must be one of exact, lease."],
    [{ mode: "lease", perSecond: 0, seconds: 1 }, "perSecond must be a whole number from 1 to 10000."],
    [{ mode: "lease", perSecond: 10_001, seconds: 1 }, "perSecond must be a whole number from 1 to 10000."],
    [{ mode: "lease", perSecond: "5", seconds: 1 }, "perSecond must be a whole number from 1 to 10000."],
    [{ mode: "lease", perSecond: 1, seconds: 601 }, "seconds must be a whole number from 1 to 600."],
    [{ mode: "lease", perSecond: 1 }, "seconds must be a whole number from 1 to 600."],
    [[], "mode must be one of exact, lease."],
  ])("refuses the order %j and says why", async (payload, message) => {
    const answer = await serve().app.inject({ method: "POST", url: "/load", payload });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ message });
    expect(done).toEqual([]);
  });

  it("takes no order in another form than JSON, as a page of somebody else's could send one", async () => {
    const { app } = serve();
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      const order = '{"mode":"lease","perSecond":1,"seconds":1}';
      const headers = { "content-type": type };
      const answer = await app.inject({ method: "POST", url: "/load", headers, payload: order });
      expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    }
    expect(done).toEqual([]);
  });

  it("takes the store away and gives it back, where that is possible", async () => {
    const cut = (reachable: unknown) => ({ method: "POST", url: "/store", payload: { reachable } }) as const;
    const { app } = serve();
    for (const reachable of [false, true]) expect((await app.inject(cut(reachable))).statusCode).toBe(202);
    expect((await app.inject(cut("no"))).statusCode).toBe(400);
    expect(done).toEqual([false, true]);
    expect((await serve({ setReachable: undefined }).app.inject(cut(false))).statusCode).toBe(409);
  });
});
