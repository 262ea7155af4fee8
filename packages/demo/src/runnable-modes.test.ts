import { describe, expect, it } from "vitest";
import { MODES, modeNamed } from "./modes.ts";
import { describeSkipped, runnableModes } from "./runnable-modes.ts";

describe("runnableModes", () => {
  it("are all modes on a Redis that the demo started", () => {
    const { modes, skipped } = runnableModes(MODES, { kind: "redis", isOwn: true });
    expect(modes).toEqual(MODES);
    expect(skipped).toEqual([]);
  });

  it.each([
    ["a Redis of the user's", "redis", false, /only with one that it started itself/],
    ["the embedded store", "embedded", true, /embedded store/],
  ] as const)("leave the outage out on %s, and say why", (_title, kind, isOwn, reason) => {
    const { modes, skipped } = runnableModes(MODES, { kind, isOwn });
    expect(modes.map(({ name }) => name)).toEqual(["per-process", "exact", "lease"]);
    expect(skipped.map(describeSkipped)).toEqual([expect.stringMatching(/^outage is left out: .*\.$/)]);
    expect(skipped[0]?.reason).toMatch(reason);
  });

  it("are nothing when only the outage was asked for and cannot run", () => {
    const only = [modeNamed("outage")];
    expect(() => runnableModes(only, { kind: "embedded", isOwn: true })).toThrow("Nothing is left to run: outage");
  });

  it("need no store for a mode that shares none", () => {
    expect(runnableModes([modeNamed("per-process")], undefined).modes).toHaveLength(1);
  });
});
