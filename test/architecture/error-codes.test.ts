import { describe, expect, it } from "vitest";
import { filesUnder, textOf } from "./source-files.ts";

const CODE = /ERR_SPILLWAY_[A-Z_]+/g;
const union = /export type SpillwayErrorCode =([^;]*);/.exec(textOf("packages/spillway/src/errors.ts"))?.[1] ?? "";
const codes = [...union.matchAll(/"([^"]+)"/g)].map((match) => match[1] as string);
const explained = [...textOf("docs/errors.md").matchAll(/^## `([^`]+)`$/gm)].map((match) => match[1] as string);

describe("error codes", () => {
  it("each begin with ERR_SPILLWAY_", () => {
    expect(codes.length).toBeGreaterThan(0);
    expect(codes.filter((code) => !/^ERR_SPILLWAY_[A-Z_]+$/.test(code))).toEqual([]);
  });

  it("each have their section in docs/errors.md, and it has no other", () => {
    expect(explained.toSorted()).toEqual(codes.toSorted());
  });

  it("are each used somewhere, and nowhere is one used that the type does not name", () => {
    const used = filesUnder("packages", [".ts"])
      .filter((file) => !file.endsWith(".test.ts") && file !== "packages/spillway/src/errors.ts")
      .flatMap((file) => textOf(file).match(CODE) ?? []);
    const own = textOf("packages/spillway/src/errors.ts").replace(union, "").match(CODE) ?? [];
    expect([...new Set([...used, ...own])].sort()).toEqual(codes.toSorted());
  });
});
