import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { readDecisionNote, writeDecisionNote } from "./decision-note.ts";

const decision = (source: string, degraded: boolean) => ({ source, degraded }) as Decision;

describe("a decision's note", () => {
  it.each([
    ["lease", false, 0.0004, "lease;ms=0.000"],
    ["denial-cache", false, 12.3456, "denial-cache;ms=12.346"],
    ["backstop", true, 0.1, "backstop;degraded;ms=0.100"],
  ])("of source %s, degraded %s, says so and how long it took", (source, degraded, durationMs, text) => {
    expect(writeDecisionNote(decision(source, degraded), durationMs)).toBe(text);
    expect(readDecisionNote(text)).toEqual({ source, degraded, durationMs: Number(durationMs.toFixed(3)) });
  });

  it.each(["", "lease", "lease;ms=", "lease;ms=1", ";ms=1.000", "lease;ms=1.000;more"])(
    "is not read from %j",
    (text) => {
      expect(readDecisionNote(text)).toBeUndefined();
    },
  );
});
