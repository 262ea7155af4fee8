import { describe, expect, it } from "vitest";
import { DEADLINE_HEADER, deadlineHeaders, deadlineReader, readDeadlineMs } from "./request-deadline.ts";

const asked = (value: string) => ({ headers: { [DEADLINE_HEADER]: value } });

describe("what a request says of its deadline", () => {
  it.each<[string, number | undefined]>([
    ["800", 800],
    ["0", 0],
    ["007", 7],
    ["9".repeat(400), Number.POSITIVE_INFINITY],
    ["", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["NaN", undefined],
    ["Infinity", undefined],
    ["0x10", undefined],
    [" 5", undefined],
    ["5, 6", undefined],
    ["soon", undefined],
  ])("%j is read as %s ms", (value, expected) => {
    expect(readDeadlineMs({ [DEADLINE_HEADER]: value })).toBe(expected);
  });

  it.each<[string, number | undefined]>([
    ["2H", 7_200_000],
    ["1M", 60_000],
    ["3S", 3000],
    ["250m", 250],
    ["1500u", 1.5],
    ["1000000n", 1],
    ["0m", 0],
    ["123456789m", undefined],
    ["5s", undefined],
    ["5", undefined],
    ["-5m", undefined],
  ])("grpc-timeout %j is read as %s ms", (value, expected) => {
    expect(readDeadlineMs({ "grpc-timeout": value })).toBe(expected);
  });

  it("is nothing when the fields are absent or lists; the plain field goes first", () => {
    expect(readDeadlineMs({})).toBeUndefined();
    expect(readDeadlineMs({ [DEADLINE_HEADER]: ["5"] })).toBeUndefined();
    expect(readDeadlineMs({ [DEADLINE_HEADER]: "5", "grpc-timeout": "6m" })).toBe(5);
  });
});

describe("the deadline of a request", () => {
  it("can be shortened by the request, never lengthened", () => {
    const deadlineOf = deadlineReader({ deadlineMs: 500 });
    expect([asked("200"), asked("800"), asked("rubbish"), { headers: {} }].map(deadlineOf)).toEqual([
      200, 500, 500, 500,
    ]);
  });

  it("is what the request says where the route has none, up to the longest that is believed", () => {
    const deadlineOf = deadlineReader({});
    expect([asked("200"), asked("0"), asked("9".repeat(30)), { headers: {} }].map(deadlineOf)).toEqual([
      200,
      0,
      60_000,
      Number.POSITIVE_INFINITY,
    ]);
    expect(deadlineReader({ maxDeadlineMs: 1000 })(asked("5000"))).toBe(1000);
  });

  it("is not read from those who may not set it", () => {
    expect(deadlineReader({ readDeadline: false })(asked("200"))).toBe(Number.POSITIVE_INFINITY);
    const trusted = { headers: { ...asked("200").headers, "x-from": "gateway" } };
    const readDeadline = ({ headers }: { headers: Record<string, string> }) => headers["x-from"] === "gateway";
    const deadlineOf = deadlineReader<{ headers: Record<string, string> }>({ readDeadline, deadlineMs: 900 });
    expect([asked("200"), trusted].map(deadlineOf)).toEqual([900, 200]);
    const vague = deadlineReader({ readDeadline: () => "yes" as never });
    expect(vague(asked("200"))).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([
    ["deadlineMs", 0],
    ["deadlineMs", -1],
    ["deadlineMs", Number.NaN],
    ["deadlineMs", "500"],
    ["maxDeadlineMs", 0],
    ["readDeadline", "yes"],
  ])("is refused as an option when %s is %s", (name, value) => {
    expect(() => deadlineReader({ [name]: value })).toThrow(`Option ${name} must be`);
  });

  it("goes on to the next hop as what is left of it, in whole ms", () => {
    expect(deadlineHeaders({ remainingMs: () => 123.9 })).toEqual({ "x-request-deadline-ms": "123" });
    expect(deadlineHeaders({ remainingMs: () => 0 })).toEqual({ "x-request-deadline-ms": "0" });
    expect(deadlineHeaders({ remainingMs: () => Number.POSITIVE_INFINITY })).toEqual({});
    expect(deadlineHeaders(null)).toEqual({});
  });
});
