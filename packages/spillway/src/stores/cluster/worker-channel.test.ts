import { EventEmitter } from "node:events";
import { beforeEach, describe, expect, it } from "vitest";
import { type CallMessage, errorMessage, isCall, type ReplyMessage, resultMessage, SERVICE_ID } from "./message.ts";
import { type ChannelEnd, WorkerChannel } from "./worker-channel.ts";

/** A worker's end of a channel, with what came through it. */
class FakeEnd extends EventEmitter implements ChannelEnd {
  connected = true;
  readonly sent: CallMessage[] = [];
  fault: Error | null = null;

  send(message: CallMessage, _handle?: unknown, _options?: unknown, callback?: (error: Error | null) => void): boolean {
    this.sent.push(message);
    process.nextTick(() => callback?.(this.fault));
    return true;
  }

  receive(message: unknown): void {
    this.emit("message", message);
  }

  disconnect(): void {
    this.connected = false;
    this.emit("disconnect");
  }
}

const unavailable = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE" });
const SERVING = resultMessage(SERVICE_ID, true);
const settled = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);
let end: FakeEnd;
let channel: WorkerChannel;
beforeEach(() => {
  end = new FakeEnd();
  channel = new WorkerChannel(end);
  channel.open();
});

describe("a channel to the primary", () => {
  it("greets the primary when it opens, and is served from the answer on", async () => {
    expect(end.sent).toEqual([{ spillway: 1, id: SERVICE_ID, method: "hello", args: [] }]);
    const served = channel.served(1000);
    expect(channel.isServed).toBe(false);
    end.receive(SERVING);
    await served;
    expect(channel.isServed).toBe(true);
  });

  it("gives each call the reply of its own id, in whatever order they come", async () => {
    const calls = ["a", "b", "c"].map((args) => channel.call("take", args));
    const ids = end.sent.slice(1).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids.toReversed()) end.receive(resultMessage(id, id * 10));
    expect(await Promise.all(calls)).toEqual(ids.map((id) => id * 10));
  });

  it("rejects a call with the error that the primary tells, and with a fault if that is none of ours", async () => {
    const told = settled(channel.call("take", []));
    end.receive(errorMessage(end.sent.at(-1)?.id as number, "ERR_SPILLWAY_CLOSED", "It is closed."));
    expect(await told).toMatchObject({ code: "ERR_SPILLWAY_CLOSED", message: "It is closed." });
    const strange = settled(channel.call("take", []));
    end.receive(errorMessage(end.sent.at(-1)?.id as number, "EWHATEVER", "?"));
    expect(await strange).toMatchObject({ code: "ERR_SPILLWAY_STORE_REPLY" });
  });

  it("says why when nobody answers a greeting", async () => {
    await expect(channel.served(10)).rejects.toThrow(/serveClusterStore\(\)/);
    await expect(channel.served(1)).rejects.toEqual(unavailable);
  });

  it("greets again now and then, not with every call that waits", async () => {
    const waiting = Array.from({ length: 50 }, () => settled(channel.served(20)));
    expect(end.sent.length).toBe(1);
    await Promise.all(waiting);
    const before = end.sent.length;
    await settled(channel.served(5));
    expect(end.sent.length).toBe(before + 1);
  });

  it("leaves the messages of others alone, and replies to calls that are over", async () => {
    const call = channel.call("take", []);
    const { id } = end.sent.at(-1) as CallMessage;
    const foreign = [undefined, null, "text", 5, [], {}, { id }, { spillway: 2, id, result: 1 }, { spillway: 1, id }];
    for (const message of foreign) end.receive(message);
    end.receive({ spillway: 1, id: "1", result: 1 });
    end.receive(resultMessage(id + 1, "another's"));
    end.receive(resultMessage(id, "mine"));
    end.receive(resultMessage(id, "again"));
    expect(await call).toBe("mine");
  });

  it("rejects all that waits when the primary stops serving, and asks it anew", async () => {
    end.receive(SERVING);
    const call = settled(channel.call("take", []));
    end.receive(errorMessage(SERVICE_ID, "ERR_SPILLWAY_STORE_UNAVAILABLE", "No more."));
    expect(await call).toEqual(unavailable);
    expect(channel.isServed).toBe(false);
    const served = channel.served(1000);
    end.receive(SERVING);
    await served;
  });

  it("rejects at once when the channel is closed, before a call and during one", async () => {
    end.receive(SERVING);
    const during = [settled(channel.call("take", [])), settled(channel.served(60_000))];
    end.disconnect();
    expect(await Promise.all(during)).toEqual([unavailable, unavailable]);
    expect(channel.isServed).toBe(false);
    expect(await settled(channel.served(60_000))).toEqual(unavailable);
    expect(await settled(channel.call("take", []))).toEqual(unavailable);
    expect(end.sent.length).toBe(2);
  });

  it("rejects a call that could not be written", async () => {
    end.fault = new Error("channel closed");
    expect(await settled(channel.call("take", []))).toMatchObject({ cause: end.fault });
  });

  it("has one listener for all its users, and none after the last", async () => {
    channel.open();
    expect([end.listenerCount("message"), end.listenerCount("disconnect"), end.sent.length]).toEqual([1, 1, 1]);
    const call = settled(channel.call("take", []));
    channel.close();
    expect(end.listenerCount("message")).toBe(1);
    channel.close();
    expect([end.listenerCount("message"), end.listenerCount("disconnect")]).toEqual([0, 0]);
    expect(await call).toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
  });
});

describe("messages", () => {
  it("tell calls from replies and from what others send", () => {
    const call = { spillway: 1, id: 1, method: "take", args: [] };
    const reply: ReplyMessage = resultMessage(1, undefined);
    expect([isCall(call), isCall(reply), isCall({ ...call, spillway: 2 }), isCall({ ...call, id: 0.5 })]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
