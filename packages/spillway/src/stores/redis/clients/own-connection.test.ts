import { beforeEach, describe, expect, it } from "vitest";
import { type Driver, OwnConnection } from "./own-connection.ts";

/** A client that connects when the test says so. */
class FakeClient {
  ready = false;
  ended = 0;
  resolve: () => void = () => {};
  reject: (cause: unknown) => void = () => {};
}

let clients: FakeClient[];
const driver: Driver<FakeClient> = {
  create() {
    const client = new FakeClient();
    clients.push(client);
    return client;
  },
  connect: (client) =>
    new Promise((resolve, reject) => {
      client.resolve = () => {
        client.ready = true;
        resolve();
      };
      client.reject = reject;
    }),
  isReady: ({ ready }) => ready,
  end(client) {
    client.ready = false;
    client.ended++;
  },
};
beforeEach(() => {
  clients = [];
});

const at = (index: number): FakeClient => clients[index] as FakeClient;
const unavailable = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE" });
const closed = expect.objectContaining({ code: "ERR_SPILLWAY_CLOSED" });
const faultOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
const same = async (client: FakeClient): Promise<FakeClient> => client;

/** A connection in use. */
async function opened(withinMs?: number): Promise<OwnConnection<FakeClient>> {
  const connection = new OwnConnection(driver, withinMs);
  const used = connection.use(same);
  at(0).resolve();
  expect(await used).toBe(at(0));
  return connection;
}

describe("a connection of ours", () => {
  it("is made by the first call, once for all who ask meanwhile, and used again", async () => {
    const connection = new OwnConnection(driver);
    expect(clients).toHaveLength(0);
    const calls = [connection.use(same), connection.use(same), connection.connected()];
    at(0).resolve();
    expect(await Promise.all(calls)).toEqual([at(0), at(0), at(0)]);
    await connection.use(same);
    expect(clients).toHaveLength(1);
  });

  it("that cannot be made tells all who wait why, is ended, and is tried anew by the next call only", async () => {
    const connection = new OwnConnection(driver);
    const calls = [faultOf(connection.use(same)), faultOf(connection.use(same))];
    const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    at(0).reject(cause);
    for (const fault of await Promise.all(calls)) {
      expect(fault).toEqual(unavailable);
      expect(fault).toMatchObject({ cause });
    }
    expect(at(0).ended).toBe(1);
    const next = connection.use(same);
    at(1).resolve();
    expect(await next).toBe(at(1));
  });

  it("that takes too long is given up", async () => {
    const connection = new OwnConnection(driver, 20);
    expect(await faultOf(connection.use(same))).toEqual(unavailable);
    expect(at(0).ended).toBe(1);
    at(0).resolve();
    expect(connection.current).toBeUndefined();
  });

  it("that is lost is ended once, and another takes its place", async () => {
    const connection = await opened();
    at(0).ready = false;
    const calls = [connection.use(same), connection.use(same)];
    at(1).resolve();
    expect(await Promise.all(calls)).toEqual([at(1), at(1)]);
    expect([at(0).ended, clients.length]).toEqual([1, 2]);
  });

  it("is kept when a call fails, and given up when the server says that it is a replica", async () => {
    const connection = await opened();
    const fail = (message: string): Promise<unknown> =>
      faultOf(connection.use(() => Promise.reject(new Error(message))));
    expect(await fail("ERR whatever")).toMatchObject({ code: "ERR_SPILLWAY_STORE_FAILED" });
    expect(await fail("LOADING Redis is loading")).toEqual(unavailable);
    expect([connection.current, at(0).ended]).toEqual([at(0), 0]);
    expect(await fail("READONLY You can't write against a read only replica.")).toEqual(unavailable);
    expect([connection.current, at(0).ended]).toEqual([undefined, 1]);
  });

  it("can be replaced, unless it is no longer the one in use", async () => {
    const connection = await opened();
    const [second, third] = [driver.create(), driver.create()];
    second.ready = true;
    connection.replace(at(0), second);
    expect(connection.current).toBe(second);
    connection.replace(at(0), third);
    expect([connection.current, third.ended]).toEqual([second, 1]);
  });

  it("ends when it is closed, and is not made again", async () => {
    const connection = await opened();
    connection.close();
    connection.close();
    expect(at(0).ended).toBe(1);
    expect(await faultOf(connection.use(same))).toEqual(closed);
    expect(clients).toHaveLength(1);
  });

  it("that is being made when it is closed fails those who wait, and ends", async () => {
    const connection = new OwnConnection(driver);
    const call = faultOf(connection.use(same));
    connection.close();
    expect(await call).toEqual(closed);
    at(0).resolve();
    await Promise.resolve();
    expect([at(0).ended, connection.current]).toEqual([1, undefined]);
  });
});
