import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { waitForMessage } from "./child-message.ts";

interface Message {
  readonly type: string;
}

function wait(child: EventEmitter, signal: AbortSignal = new AbortController().signal): Promise<string> {
  const pick = (message: Message) => {
    if (message.type === "bad") throw new Error("bad message");
    return message.type === "wanted" ? message.type : undefined;
  };
  return waitForMessage(child, pick, { what: "the answer", deadlineMs: 1000, signal });
}

function listeners(child: EventEmitter): number {
  return child.listenerCount("message") + child.listenerCount("exit");
}

describe("waitForMessage", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("skips other messages and leaves nothing behind", async () => {
    const child = new EventEmitter();
    const waiting = wait(child);
    child.emit("message", { type: "other" });
    child.emit("message", { type: "wanted" });
    await expect(waiting).resolves.toBe("wanted");
    expect(listeners(child)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["the child exits", "Waited for the answer, but the process ended (code 3)."],
    ["the child is killed", "Waited for the answer, but the process ended (SIGKILL)."],
    ["the deadline passes", "Waited 1000 ms for the answer in vain."],
    ["a message is refused", "bad message"],
    ["it is aborted", "stop"],
  ])("fails when %s", async (what, message) => {
    const child = new EventEmitter();
    const controller = new AbortController();
    const waiting = wait(child, controller.signal);
    if (what === "the child exits") child.emit("exit", 3, null);
    if (what === "the child is killed") child.emit("exit", null, "SIGKILL");
    if (what === "the deadline passes") vi.advanceTimersByTime(1000);
    if (what === "a message is refused") child.emit("message", { type: "bad" });
    if (what === "it is aborted") controller.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow(message);
    expect(listeners(child)).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("fails at once when it was aborted before", async () => {
    await expect(wait(new EventEmitter(), AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  });
});
