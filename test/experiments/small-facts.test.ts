// The small counts that the texts print, with the real code in virtual time.
import { createAdmission } from "@spillway/admission";
import { rateLimitMiddleware } from "@spillway/http";
import { createRateLimiter, memoryStore } from "spillway";
import { manualClock } from "spillway/testing";
import { describe, expect, it } from "vitest";
import { firstTables } from "../../bench/experiments/first-tables.ts";
import { virtualClock } from "../../bench/simulator/virtual-clock.ts";
import { VirtualLoop } from "../../bench/simulator/virtual-loop.ts";
import { ask, serve } from "../support/http-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

it("the first text's own runs, and its probe, are met", async () => {
  const { marks } = await firstTables();
  expect(marks.filter(({ met }) => !met).map(({ text }) => text)).toEqual([]);
  expect(marks.length).toBeGreaterThan(8);
});

describe("admission", () => {
  it("of 250 items at once a queue of 100 takes 100 and turns 150 away", () => {
    const admission = createAdmission({ slots: 1, lineMs: Infinity, lineItems: 100, waitMs: Infinity, order: "fifo" });
    // The consumer has not begun: its slot is held by somebody else.
    admission.acquireNow();
    let shed = 0;
    for (let item = 0; item < 250; item++)
      admission.enter((answer) => {
        if (!answer.admitted) shed++;
      });
    expect([admission.stats().waiting, shed]).toEqual([100, 150]);
    void admission.close();
  });

  it("100 calls of 20 ms on 10 slots are done after 200 ms, 10 at work at most", async () => {
    const loop = new VirtualLoop();
    const slots = { slots: 10, lineMs: Infinity, waitMs: Infinity, order: "fifo" } as const;
    const admission = createAdmission({ ...slots, clock: virtualClock(loop, 0) });
    let [peak, done, lastMs] = [0, 0, 0];
    for (let call = 0; call < 100; call++)
      admission.enter((permit) => {
        peak = Math.max(peak, admission.stats().active);
        loop.after(20, () => {
          done++;
          lastMs = loop.nowMs;
          if (permit.admitted) permit.release();
        });
      });
    await loop.runUntil(1000);
    expect([peak, done]).toEqual([10, 100]);
    expect(lastMs).toBeGreaterThanOrEqual(200);
    expect(lastMs).toBeLessThanOrEqual(250);
  });

  it("a line longer than C (T - S) is pure harm: whoever stands behind that place is answered too late", async () => {
    // Eight slots of 100 ms, callers who wait for a second: 80/s x 0.9 s = 72 places.
    const loop = new VirtualLoop();
    const endless = { lineMs: Infinity, lineItems: 1000, waitMs: Infinity, order: "fifo" } as const;
    const admission = createAdmission({ slots: 8, ...endless, clock: virtualClock(loop, 0) });
    const answeredMs: number[] = [];
    for (let caller = 0; caller < 8 + 100; caller++)
      admission.enter((permit) => {
        loop.after(100, () => {
          answeredMs.push(loop.nowMs);
          if (permit.admitted) permit.release();
        });
      });
    await loop.runUntil(5000);
    expect(answeredMs.filter((ms) => ms <= 1000 + 1)).toHaveLength(8 + 72);
  });
});

describe("buckets", () => {
  it("of 4/s and 10, a spike of 30 within a quarter of a second: 10 go in and what came in meanwhile", async () => {
    const { limiter, clock } = manualLimiter({ name: "bucket", limit: 4, period: "1s", burst: 10 });
    let admitted = 0;
    for (let n = 0; n < 30; n++) {
      if ((await limiter.consume("k")).allowed) admitted++;
      clock.advance(250 / 30);
    }
    expect(admitted).toBe(10);
    clock.advance(1);
    expect((await limiter.consume("k")).allowed).toBe(true);
  });

  it("of 2/s and 3, one for each key: 200, 200, 200, 429, 429 with Retry-After 1, the other key 200, after 1 s 200", async () => {
    const clock = manualClock();
    const policies = { name: "bucket", limit: 2, period: "1s", burst: 3 } as const;
    const limiter = createRateLimiter({ store: memoryStore({ clock }), clock, policies });
    const limit = rateLimitMiddleware({ limiter, key: ({ headers }) => headers["x-api-key"] as string });
    const server = await serve((request, response) => limit(request, response, () => response.end("in")));
    const answers = [];
    for (let n = 0; n < 5; n++) answers.push(await ask(server, { headers: { "x-api-key": "a" } }));
    expect(answers.map(({ status, headers }) => [status, headers["retry-after"]])).toEqual([
      [200, undefined],
      [200, undefined],
      [200, undefined],
      [429, "1"],
      [429, "1"],
    ]);
    expect((await ask(server, { headers: { "x-api-key": "b" } })).status).toBe(200);
    clock.advance(1000);
    expect((await ask(server, { headers: { "x-api-key": "a" } })).status).toBe(200);
    await limiter.close();
  });
});
