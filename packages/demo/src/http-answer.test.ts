import { describe, expect, it } from "vitest";
import { HttpAnswerReader } from "./http-answer.ts";

const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nX-Worker: 71\r\nContent-Length: 4\r\n\r\n{"a"';
const ADMITTED =
  "HTTP/1.1 200 OK\r\nx-decision: backstop;degraded;ms=0.120\r\nx-worker: 72\r\ncontent-length: 0\r\n\r\n";

const read = (...pieces: string[]) => {
  const reader = new HttpAnswerReader();
  return { answers: pieces.flatMap((piece) => reader.push(Buffer.from(piece))), reader };
};

describe("HttpAnswerReader", () => {
  it("reads status, worker and decision once the last byte is there", () => {
    expect(read(ADMITTED).answers).toEqual([
      { status: 200, worker: "72", decision: { source: "backstop", degraded: true, durationMs: 0.12 } },
    ]);
    expect(read(REFUSAL.slice(0, -1)).answers).toEqual([]);
  });

  it("reads an answer that comes byte by byte", () => {
    const reader = new HttpAnswerReader();
    const answers = [...REFUSAL].map((byte) => reader.push(Buffer.from(byte)));
    expect(answers.slice(0, -1).flat()).toEqual([]);
    expect(answers.at(-1)).toEqual([{ status: 429, worker: "71", decision: undefined }]);
  });

  it("reads several answers of one connection, however they are cut into pieces", () => {
    const both = `${REFUSAL}${ADMITTED}${REFUSAL}`;
    for (const cut of [1, 60, REFUSAL.length, REFUSAL.length + 3, both.length - 1]) {
      const { answers } = read(both.slice(0, cut), both.slice(cut));
      expect(answers.map(({ status }) => status)).toEqual([429, 200, 429]);
    }
  });

  it("takes the end of the connection for the end of a body without content-length", () => {
    const { answers, reader } = read("HTTP/1.1 200 OK\r\n\r\nbody");
    expect(answers).toEqual([]);
    expect(reader.end()).toMatchObject({ status: 200, worker: "" });
  });

  it.each([
    ["ends before the head does", "HTTP/1.1 200 OK\r\n"],
    ["ends before the body does", REFUSAL.slice(0, -1)],
    ["does not speak HTTP", "-ERR unknown command\r\n\r\n"],
  ])("makes no answer of a connection that %s", (_title, text) => {
    const { answers, reader } = read(text);
    expect(answers).toEqual([]);
    expect(reader.end()).toBeUndefined();
  });
});
