import { describe, expect, it } from "vitest";
import { HttpAnswerReader } from "./http-answer.ts";

const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nX-Worker: 71\r\nContent-Length: 4\r\n\r\n{"a"';

describe("HttpAnswerReader", () => {
  it("reads status and worker once the last byte is there", () => {
    expect(new HttpAnswerReader().push(Buffer.from(REFUSAL))).toEqual({ status: 429, worker: "71" });
  });

  it("reads an answer that comes byte by byte", () => {
    const reader = new HttpAnswerReader();
    const answers = [...REFUSAL].map((byte) => reader.push(Buffer.from(byte)));
    expect(answers.slice(0, -1).every((answer) => answer === undefined)).toBe(true);
    expect(answers.at(-1)).toEqual({ status: 429, worker: "71" });
  });

  it("takes the end of the connection for the end of a body without content-length", () => {
    const reader = new HttpAnswerReader();
    expect(reader.push(Buffer.from("HTTP/1.1 200 OK\r\n\r\nbody"))).toBeUndefined();
    expect(reader.end()).toEqual({ status: 200, worker: "" });
  });

  it("makes no answer of a connection that ends before the head or the body does", () => {
    const headless = new HttpAnswerReader();
    headless.push(Buffer.from("HTTP/1.1 200 OK\r\n"));
    expect(headless.end()).toBeUndefined();
    const cut = new HttpAnswerReader();
    cut.push(Buffer.from(REFUSAL.slice(0, -1)));
    expect(cut.end()).toBeUndefined();
  });

  it("makes no answer of what is not HTTP", () => {
    const reader = new HttpAnswerReader();
    reader.push(Buffer.from("-ERR unknown command\r\n\r\n"));
    expect(reader.end()).toBeUndefined();
  });
});
