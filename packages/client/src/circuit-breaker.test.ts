import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BreakerSettings, type CallResult, CircuitBreaker, type Ticket } from "./circuit-breaker.ts";

const settings: BreakerSettings = {
  windowMs: 10_000,
  failureRatio: 0.5,
  minimumCalls: 5,
  openMs: 1000,
  probes: 1,
  probeTimeoutMs: 1000,
  silenceMs: 500,
};

/** A breaker with the time in hand. */
class Rig {
  nowMs = 0;
  readonly breaker: CircuitBreaker;

  constructor(changed: Partial<BreakerSettings> = {}) {
    this.breaker = new CircuitBreaker({ ...settings, ...changed });
  }

  get kind(): string {
    return this.breaker.state.kind;
  }

  start(medianMs?: number): Ticket | undefined {
    return this.breaker.start(this.nowMs, medianMs, 0);
  }

  startMany(calls: number): Ticket[] {
    return Array.from({ length: calls }, () => this.start()).filter((ticket) => ticket !== undefined);
  }

  end(ticket: Ticket | undefined, result: CallResult): void {
    this.breaker.settle(ticket as Ticket, result, this.nowMs, 0);
  }

  /** Opens it by failures. */
  fail(): this {
    for (const ticket of this.startMany(5)) this.end(ticket, "failed");
    expect(this.kind).toBe("open");
    return this;
  }
}

describe("a closed breaker", () => {
  it("opens once when calls that ran together all fail, and closes by one good call after its time (C21)", () => {
    const rig = new Rig();
    const calls = rig.startMany(6);
    for (const call of calls) rig.end(call, "failed");
    expect(rig.kind).toBe("open");
    rig.nowMs = 999;
    expect(rig.start()).toBeUndefined();
    rig.nowMs = 1000;
    const probe = rig.start();
    expect(rig.kind).toBe("half-open");
    rig.end(probe, "answered");
    expect(rig.kind).toBe("closed");
  });

  it("stays closed below the least number of calls, and below the share of failures", () => {
    const rig = new Rig();
    for (const ticket of rig.startMany(4)) rig.end(ticket, "failed");
    expect(rig.kind).toBe("closed");
    for (const ticket of rig.startMany(5)) rig.end(ticket, "answered");
    expect(rig.kind).toBe("closed");
    rig.end(rig.start(), "failed");
    expect(rig.kind).toBe("open");
  });

  it("forgets failures that have left the window", () => {
    const rig = new Rig();
    for (const ticket of rig.startMany(4)) rig.end(ticket, "failed");
    rig.nowMs = 10_000;
    rig.end(rig.start(), "failed");
    expect(rig.kind).toBe("closed");
  });

  it("does not count calls whose callers went away", () => {
    const rig = new Rig();
    for (const ticket of rig.startMany(50)) rig.end(ticket, "withdrawn");
    expect(rig.kind).toBe("closed");
    expect(rig.breaker.underWay).toBe(0);
  });
});

describe("a silent origin", () => {
  it("opens the breaker while its calls are still under way", () => {
    const rig = new Rig();
    rig.startMany(4);
    rig.nowMs = 600;
    expect(rig.start()).toBeDefined();
    expect(rig.start()).toBeUndefined();
    expect(rig.breaker.state).toMatchObject({ kind: "open", reason: "silent" });
  });

  it("is not one that answers now and then, nor one that is slow at all times", () => {
    const rig = new Rig();
    const [first] = rig.startMany(20);
    rig.nowMs = 400;
    rig.end(first, "answered");
    rig.nowMs = 800;
    expect(rig.start()).toBeDefined();
    rig.nowMs = 901;
    expect(rig.start(1000)).toBeDefined();
    expect(rig.start(10)).toBeUndefined();
  });

  it("is asked again as soon as one of its calls is answered", () => {
    const rig = new Rig();
    const [first, second] = rig.startMany(20);
    rig.nowMs = 600;
    expect(rig.start()).toBeUndefined();
    rig.end(first, "failed");
    expect(rig.kind).toBe("open");
    rig.end(second, "answered");
    expect(rig.kind).toBe("closed");
    expect(rig.start()).toBeDefined();
  });
});

describe("a half-open breaker (C21)", () => {
  it("lets exactly one of a hundred calls through, and opens again for as long when it fails", () => {
    const rig = new Rig().fail();
    rig.nowMs = 1000;
    const [probe, ...others] = rig.startMany(100);
    expect(others).toEqual([]);
    rig.nowMs = 1300;
    rig.end(probe, "failed");
    rig.nowMs = 2299;
    expect(rig.start()).toBeUndefined();
    rig.nowMs = 2300;
    const again = rig.startMany(100);
    expect(again.length).toBe(1);
    rig.end(again[0], "answered");
    expect(rig.startMany(100).length).toBe(100);
  });

  it("lets as many through as it is told to, all of which must do well", () => {
    const rig = new Rig({ probes: 3 }).fail();
    rig.nowMs = 1000;
    const probes = rig.startMany(10);
    expect(probes.length).toBe(3);
    rig.end(probes[0], "answered");
    rig.end(probes[1], "answered");
    expect(rig.kind).toBe("half-open");
    expect(rig.startMany(10).length).toBe(2);
    rig.end(probes[2], "answered");
    expect(rig.kind).toBe("closed");
  });

  it("is never stuck: a probe that does not settle counts as failed, and one whose caller went away frees its place", () => {
    const rig = new Rig().fail();
    rig.nowMs = 1000;
    const hung = rig.start();
    rig.nowMs = 1999;
    expect(rig.start()).toBeUndefined();
    rig.nowMs = 2000;
    expect(rig.start()).toBeUndefined();
    expect(rig.kind).toBe("open");
    rig.nowMs = 3000;
    const left = rig.start();
    rig.end(hung, "failed");
    expect(rig.kind).toBe("half-open");
    rig.end(left, "withdrawn");
    rig.end(rig.start(), "answered");
    expect(rig.kind).toBe("closed");
  });

  it("takes no news from calls of an earlier state", () => {
    const rig = new Rig();
    const early = rig.startMany(10);
    for (const ticket of early.slice(0, 5)) rig.end(ticket, "failed");
    rig.nowMs = 1000;
    const probe = rig.start();
    for (const ticket of early.slice(5)) rig.end(ticket, "failed");
    expect(rig.kind).toBe("half-open");
    rig.end(probe, "answered");
    expect(rig.kind).toBe("closed");
  });

  it("opens up to a tenth longer by chance, so that many processes do not probe at once", () => {
    const breaker = new CircuitBreaker(settings);
    const tickets = Array.from({ length: 5 }, () => breaker.start(0, undefined, 0) as Ticket);
    for (const ticket of tickets) breaker.settle(ticket, "failed", 0, 0.5);
    expect(breaker.closedForMs(0)).toBe(1050);
  });
});

it("whatever happens, calls can go through again after its time, and none is counted twice", () => {
  const step = fc.record({
    do: fc.constantFrom("start", "answered", "failed", "withdrawn"),
    gapMs: fc.nat(700),
    which: fc.nat(1000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const rig = new Rig({ probes: 2 });
      const underWay: Ticket[] = [];
      for (const { do: what, gapMs, which } of steps) {
        rig.nowMs += gapMs;
        const ticket = what === "start" ? rig.start() : underWay.splice(which % Math.max(1, underWay.length), 1)[0];
        if (what === "start" && ticket !== undefined) underWay.push(ticket);
        if (what !== "start" && ticket !== undefined) rig.end(ticket, what as CallResult);
        expect(rig.breaker.underWay).toBe(underWay.length);
      }
      for (const ticket of underWay.splice(0)) rig.end(ticket, "withdrawn");
      rig.nowMs += 1000;
      for (let good = 0; good < 2; good++) rig.end(rig.start(), "answered");
      expect(rig.kind).toBe("closed");
    }),
  );
});
