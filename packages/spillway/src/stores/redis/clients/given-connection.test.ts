import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, it } from "vitest";
import { GivenConnection, type GivenState } from "./given-connection.ts";

const unavailable = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE" });
const faultOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

let client: EventEmitter;
let state: ReturnType<GivenState["state"]>;
let connection: GivenConnection<EventEmitter>;
beforeEach(() => {
  client = new EventEmitter();
  state = "ready";
  const given = { state: () => state, readyEvent: "ready", lostEvents: ["error", "end"] };
  connection = new GivenConnection(client, given);
});

describe("a user's client", () => {
  it("is used at once when it is connected, without a listener", async () => {
    expect(await connection.use(async () => client.eventNames())).toEqual([]);
  });

  it("is not waited for when it has lost its connection", async () => {
    state = "lost";
    expect(await faultOf(connection.use(async () => "sent"))).toEqual(unavailable);
  });

  it("that connects is waited for with one set of listeners, which are gone afterwards", async () => {
    state = "connecting";
    const calls = Array.from({ length: 20 }, () => connection.use(async () => "sent"));
    expect(["ready", "error", "end"].map((event) => client.listenerCount(event))).toEqual([1, 1, 1]);
    client.emit("ready");
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["sent"]));
    expect(client.eventNames()).toEqual([]);
  });

  it("that fails to connect fails those who wait, with its reason", async () => {
    state = "connecting";
    const call = faultOf(connection.use(async () => "sent"));
    const cause = new Error("connect ETIMEDOUT");
    client.emit("error", cause);
    expect(await call).toMatchObject({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE", cause });
    expect(client.eventNames()).toEqual([]);
    const ended = faultOf(connection.use(async () => "sent"));
    client.emit("end");
    expect(await ended).toEqual(unavailable);
  });

  it("is left alone when the store is closed, also by who waits for it", async () => {
    state = "connecting";
    const call = faultOf(connection.use(async () => "sent"));
    connection.close();
    expect(await call).toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
    expect(client.eventNames()).toEqual([]);
    expect(await faultOf(connection.use(async () => "sent"))).toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
  });

  it("whose call fails has its error explained", async () => {
    const cause = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    expect(await faultOf(connection.use(() => Promise.reject(cause)))).toMatchObject({
      code: "ERR_SPILLWAY_STORE_UNAVAILABLE",
      cause,
    });
  });
});
