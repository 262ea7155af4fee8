import { describe, expect, it } from "vitest";
import { peek } from "../scripts/generated.ts";
import { runOnce } from "./run-once.ts";

const KEYS = ["{k}:a", "{k}:b"];
const HASH = ["EVALSHA", peek.sha1, "2", ...KEYS, "1", "2"];
const TEXT = ["EVAL", peek.text, "2", ...KEYS, "1", "2"];

/** Answers commands one after another; an error is rejected with. */
function server(...answers: unknown[]): {
  sent: (readonly string[])[];
  send(command: readonly string[]): Promise<unknown>;
} {
  const sent: (readonly string[])[] = [];
  return {
    sent,
    async send(command) {
      const answer = answers[sent.push(command) - 1];
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

describe("a script", () => {
  it("is sent by its hash, and that is all when the server knows it", async () => {
    const { sent, send } = server([1]);
    expect(await runOnce(send, peek, KEYS, ["1", "2"])).toEqual([1]);
    expect(sent).toEqual([HASH]);
  });

  it("is sent as text when the server says that it does not know it, and so did not run it", async () => {
    const { sent, send } = server(new Error("NOSCRIPT No matching script. Please use EVAL."), [1]);
    expect(await runOnce(send, peek, KEYS, ["1", "2"])).toEqual([1]);
    expect(sent).toEqual([HASH, TEXT]);
  });

  it.each(["Connection is closed.", "ERR something NOSCRIPT", "READONLY You can't write", "Command timed out"])(
    "is not sent again after: %s",
    async (message) => {
      const { sent, send } = server(new Error(message), [1]);
      await expect(runOnce(send, peek, KEYS, ["1", "2"])).rejects.toThrow(message);
      expect(sent).toEqual([HASH]);
    },
  );

  it("is sent as text once only", async () => {
    const { sent, send } = server(new Error("NOSCRIPT a"), new Error("NOSCRIPT b"), [1]);
    await expect(runOnce(send, peek, KEYS, ["1", "2"])).rejects.toThrow("NOSCRIPT b");
    expect(sent).toEqual([HASH, TEXT]);
  });
});
