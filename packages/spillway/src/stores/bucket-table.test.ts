import { describe, expect, it } from "vitest";
import type { BucketState } from "../algorithms/bucket.ts";
import { BucketTable } from "./bucket-table.ts";

const stateOf = (startUs: number): BucketState => ({ kind: "fixed-window", startUs, used: 1 });

describe("a table of buckets", () => {
  it("takes room as it is used, up to its most", () => {
    const table = new BucketTable(5000, 256);
    const rooms = new Set<number>();
    for (let i = 0; i < 6000; i++) {
      table.add(`key:${i}`, stateOf(i));
      rooms.add(table.room);
    }
    expect([...rooms]).toEqual([256, 2048, 5000]);
    expect(new BucketTable(3, 256).room).toBe(3);
  });

  it("keeps long keys apart, and no longer than 243 characters", () => {
    const table = new BucketTable(10, 10);
    const long = "k".repeat(60_000);
    const keys = [`${long}a`, `${long}b`, `${long}\ud800`, `${long}\ud801`, "k".repeat(200), "k".repeat(201)];
    for (const [i, key] of keys.entries()) table.add(key, stateOf(i));
    expect(keys.map((key) => table.get(key))).toEqual(keys.map((_, i) => stateOf(i)));
    expect(table.peek(`${long}a`)).toEqual(stateOf(0));
    expect(Math.max(...[...table.keptKeys()].map((key) => key.length))).toBe(243);
  });

  it("loses none while there is room, and then those that were used least recently, however it has grown", () => {
    const table = new BucketTable(3000, 256);
    for (let i = 0; i < 3000; i++) {
      table.add(`key:${i}`, stateOf(i));
      table.get("key:0");
    }
    for (let i = 0; i < 3000; i++) expect(table.peek(`key:${i}`)).toEqual(stateOf(i));
    table.add("one more", stateOf(0));
    expect([table.peek("key:0"), table.peek("key:1"), table.peek("key:2")]).toEqual([
      stateOf(0),
      undefined,
      stateOf(2),
    ]);
  });
});
