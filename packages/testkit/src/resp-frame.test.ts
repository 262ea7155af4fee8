import { describe, expect, it } from "vitest";
import { commandName, endOfValue, FrameReader, isReply } from "./resp-frame.ts";

const WHOLE = [
  ["a status", "+OK\r\n"],
  ["an error", "-NOSCRIPT No matching script.\r\n"],
  ["a number", ":42\r\n"],
  ["a null", "_\r\n"],
  ["a bulk string with line ends inside", "$6\r\na\r\nb\r\n\r\n"],
  ["an absent bulk string", "$-1\r\n"],
  ["an empty array", "*0\r\n"],
  ["a nested array", "*2\r\n*2\r\n:1\r\n$1\r\na\r\n$-1\r\n"],
  ["a map", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n"],
  ["a set", "~2\r\n:1\r\n:2\r\n"],
  ["a push", ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"],
  ["a verbatim string", "=7\r\ntxt:abc\r\n"],
  ["an attribute with its value", "|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n"],
  ["an inline command", "PING\r\n"],
] as const;

describe("the end of a RESP value", () => {
  it.each(WHOLE)("is found for %s", (_name, text) => {
    expect(endOfValue(Buffer.from(`:1\r\n${text}+next\r\n`), 4)).toBe(4 + text.length);
  });

  it.each(WHOLE)("is not found while any part of %s is missing", (_name, text) => {
    const bytes = Buffer.from(text);
    for (let length = 0; length < bytes.length; length++) expect(endOfValue(bytes.subarray(0, length), 0)).toBe(-1);
  });

  it("is not looked for in what is no RESP", () => {
    expect(() => endOfValue(Buffer.from("$x\r\n"), 0)).toThrow("Not RESP: $x");
  });
});

describe("a frame reader", () => {
  it.each([1, 2, 3, 7, 1000])("gives the same values whether they come in pieces of %i bytes", (size) => {
    const bytes = Buffer.from(WHOLE.map(([, text]) => text).join(""));
    const reader = new FrameReader();
    const frames: string[] = [];
    for (let start = 0; start < bytes.length; start += size) {
      for (const frame of reader.push(bytes.subarray(start, start + size))) frames.push(frame.toString());
    }
    expect(frames).toEqual(WHOLE.map(([, text]) => text));
  });
});

describe("a frame", () => {
  it.each([
    ["*2\r\n$3\r\nget\r\n$1\r\na\r\n", "GET"],
    ["*3\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n0\r\n", "EVALSHA"],
    ["ping\r\n", "PING"],
    ["*0\r\n", ""],
  ])("%j is the command %j", (text, name) => {
    expect(commandName(Buffer.from(text))).toBe(name);
  });

  it("answers a command unless it is a push", () => {
    expect(isReply(Buffer.from(">1\r\n+x\r\n"))).toBe(false);
    expect(isReply(Buffer.from("*1\r\n+x\r\n"))).toBe(true);
  });
});
