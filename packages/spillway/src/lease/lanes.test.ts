import { describe, expect, it } from "vitest";
import { policyResolver } from "../policy-set.ts";
import { Lane } from "./lane.ts";
import { Lanes } from "./lanes.ts";

const SET = policyResolver({ name: "bucket", limit: 10, period: "1s" })("key");
const OTHER_SET = policyResolver({ name: "other", limit: 10, period: "1s" })("key");

function worthKeeping(key: string): Lane {
  const lane = new Lane(key, SET);
  lane.backstop = { buckets: [], age: 0, reserved: 0 };
  return lane;
}

function keep(lanes: Lanes, lane: Lane): void {
  lanes.enter(lane);
  lanes.leave(lane);
}

describe("lanes", () => {
  it("are found while a call is wanted or under way, and then only when there is something to remember", () => {
    const lanes = new Lanes(10);
    const [plain, worthy] = [new Lane("plain", SET), worthKeeping("worthy")];
    for (const lane of [plain, worthy]) lanes.enter(lane);
    expect(lanes.find("plain", SET)).toBe(plain);
    expect(lanes.size).toBe(2);
    for (const lane of [plain, worthy]) lanes.leave(lane);
    expect(lanes.find("plain", SET)).toBeUndefined();
    expect(lanes.find("worthy", SET)).toBe(worthy);
    expect(lanes.size).toBe(1);
  });

  it("of other policies are not found", () => {
    const lanes = new Lanes(10);
    keep(lanes, worthKeeping("key"));
    lanes.enter(new Lane("key", SET));
    expect(lanes.find("key", OTHER_SET)).toBeUndefined();
  });

  it("remember of the others when they were decided for", () => {
    const lanes = new Lanes(10);
    const first = new Lane("key", SET);
    lanes.enter(first);
    expect(lanes.decidedMs(first, 5)).toBe(Number.NEGATIVE_INFINITY);
    first.decidedMs = 7;
    lanes.leave(first);
    expect(lanes.decidedMs(new Lane("key", SET), 9)).toBe(7);
  });

  it("that fall out of the kept ones are remembered likewise", () => {
    const lanes = new Lanes(1);
    const first = worthKeeping("first");
    first.decidedMs = 7;
    keep(lanes, first);
    keep(lanes, worthKeeping("second"));
    expect(lanes.find("first", SET)).toBeUndefined();
    expect(lanes.decidedMs(new Lane("first", SET), 9)).toBe(7);
  });

  it("of long keys are kept for a 64th as many, which takes no place from others", () => {
    const lanes = new Lanes(128);
    for (let i = 0; i < 128; i++) keep(lanes, worthKeeping(`usual:${i}`));
    const long = "k".repeat(2048);
    for (let i = 0; i < 5; i++) keep(lanes, worthKeeping(`${long}${i}`));
    expect([lanes.find(`${long}2`, SET), lanes.find(`${long}3`, SET)?.key]).toEqual([undefined, `${long}3`]);
    expect([lanes.find("usual:0", SET)?.key, lanes.size]).toEqual(["usual:0", 130]);
  });

  it("of a key whose policies have changed are two, the older of which does not take the newer one's place", () => {
    const lanes = new Lanes(10);
    const [older, newer] = [worthKeeping("key"), new Lane("key", OTHER_SET)];
    lanes.enter(older);
    lanes.enter(newer);
    expect(older.superseded).toBe(true);
    lanes.leave(older);
    expect(lanes.find("key", OTHER_SET)).toBe(newer);
    expect(lanes.find("key", SET)).toBeUndefined();
  });
});
