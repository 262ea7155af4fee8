import { describe, expect, it } from "vitest";
import { onBehalfOf } from "./caller-context.ts";
import { createClient } from "./client.ts";
import { bench, URL_OF_TESTS } from "./test-support.ts";

const failing = { status: 503 };

describe("a client around a client (C20)", () => {
  it("makes as many attempts as one", async () => {
    const rig = bench([failing], { budget: false, throttle: false });
    const outer = createClient({ fetch: rig.client.fetch, clock: rig.clock, budget: false, throttle: false });
    const outcome = await rig.finish(outer.request(URL_OF_TESTS));
    expect([outcome.stopped, outcome.attempts.length, rig.seen.length]).toEqual(["attempts-used", 4, 4]);
    expect(rig.seen.map(({ headers }) => headers.get("x-request-attempt"))).toEqual(["1", "2", "3", "4"]);
    expect(rig.client.stats().stopped.nested).toBe(4);
  });

  it("retries in the inner one where the outer does not", async () => {
    const rig = bench([failing]);
    const outer = createClient({ fetch: rig.client.fetch, clock: rig.clock, retry: false });
    await rig.finish(outer.request(URL_OF_TESTS));
    expect(rig.seen.length).toBe(4);
    const post = bench([{ error: "ECONNREFUSED" }]);
    const around = createClient({ fetch: post.client.fetch, clock: post.clock, retry: 0 });
    await post.finish(around.request(URL_OF_TESTS, { method: "POST", body: "x" }));
    expect(post.seen.length).toBe(4);
  });

  it("has no more time than the outer one", async () => {
    const rig = bench([{ status: 200 }], { deadline: "5s" });
    const outer = createClient({ fetch: rig.client.fetch, clock: rig.clock, deadline: "2s" });
    await rig.finish(outer.request(URL_OF_TESTS));
    expect(rig.seen[0]?.headers.get("x-request-deadline-ms")).toBe("2000");
  });
});

describe("calls on behalf of an incoming request", () => {
  it("leave retries to its caller when that one repeats it, and say so further in", async () => {
    const rig = bench([failing]);
    const headers = { "x-request-attempt": "2" };
    const outcome = await rig.finish(onBehalfOf(headers, () => rig.request(), { clock: rig.clock }));
    expect([outcome.stopped, rig.seen.length]).toEqual(["nested", 1]);
    expect(rig.seen[0]?.headers.get("x-request-attempt")).toBe("2");
  });

  it("retry as usual when nobody further out does", async () => {
    const rig = bench([failing]);
    await rig.finish(onBehalfOf({}, () => rig.request(), { clock: rig.clock }));
    expect(rig.seen.length).toBe(4);
  });

  it("have what is left of its time, counted from its arrival", async () => {
    const rig = bench([{ status: 200 }]);
    const inside = async () => {
      await rig.pass(400, 100);
      return rig.request();
    };
    await rig.finish(onBehalfOf({ "x-request-deadline-ms": "1000" }, inside, { clock: rig.clock }));
    expect(rig.seen[0]?.headers.get("x-request-deadline-ms")).toBe("600");
  });

  it("are not sent when there is none left", async () => {
    const rig = bench([{ status: 200 }]);
    const headers = new Headers({ "x-request-deadline-ms": "0" });
    const outcome = await rig.finish(onBehalfOf(headers, () => rig.request(), { clock: rig.clock }));
    expect(outcome).toMatchObject({
      kind: "refused",
      stopped: "out-of-time",
      error: { code: "ERR_SPILLWAY_CALL_TIMEOUT" },
    });
    expect(rig.seen.length).toBe(0);
  });

  it.each(["-1", "1e3", "soon", "", "1.5", "9".repeat(16)])("pay no heed to a deadline of %j", async (value) => {
    const rig = bench([{ status: 200 }]);
    await rig.finish(onBehalfOf({ "x-request-deadline-ms": [value, "7"] }, () => rig.request(), { clock: rig.clock }));
    expect(rig.seen[0]?.headers.get("x-request-deadline-ms")).toBe("10000");
  });

  it("cannot be given more time than the client gives", async () => {
    const rig = bench([{ status: 200 }]);
    await rig.finish(onBehalfOf({ "x-request-deadline-ms": "99999999" }, () => rig.request(), { clock: rig.clock }));
    expect(rig.seen[0]?.headers.get("x-request-deadline-ms")).toBe("10000");
  });
});

it("header names can be others, or none", async () => {
  const own = bench([{ status: 200 }], { headers: { deadline: "X-Budget", attempt: false } });
  await own.finish(own.request());
  expect([...(own.seen[0]?.headers.keys() ?? [])]).toEqual(["x-budget"]);
  const none = bench([{ status: 200 }], { headers: false });
  await none.finish(none.request());
  expect([...(none.seen[0]?.headers.keys() ?? [])]).toEqual([]);
});
