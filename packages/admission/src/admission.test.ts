import { SpillwayError } from "spillway";
import { describe, expect, it } from "vitest";
import { createAdmission, enterWithReply, withAdmission } from "./index.ts";
import { turnClock } from "./test-support.ts";

/** A face under a clock of the test. Promises settle in microtasks, so tests `await` after they take turns. */
function face(options: Parameters<typeof createAdmission>[0] = {}) {
  const clock = turnClock();
  const admission = createAdmission({ clock, random: () => 0, ...options });
  return { clock, admission };
}

describe("acquire", () => {
  it("gives a permit in the next turn where there is a slot", async () => {
    const { clock, admission } = face({ slots: 1 });
    const asked = admission.acquire();
    clock.settle();
    const permit = await asked;
    expect(permit).toMatchObject({ admitted: true, waitedMs: 0 });
    expect(admission.stats()).toMatchObject({ active: 1, admitted: 1 });
    if (permit.admitted) permit.release();
    expect(admission.stats().active).toBe(0);
  });

  it("waits for a slot, and says for how long it did", async () => {
    const { clock, admission } = face({ slots: 1 });
    const holder = admission.acquireNow();
    const asked = admission.acquire();
    clock.advance(120);
    if (holder?.admitted) holder.release();
    clock.settle();
    expect(await asked).toMatchObject({ admitted: true, waitedMs: 120 });
    expect(admission.stats().waits).toMatchObject({ count: 2, sumMs: 120 });
    const { buckets } = admission.stats().waits;
    expect(buckets.filter(({ count }) => count > 0)).toEqual([
      { atMostMs: 1, count: 1 },
      { atMostMs: 250, count: 1 },
    ]);
  });

  it("resolves with a refusal, never rejects for one", async () => {
    const { clock, admission } = face({ slots: 1, waitMs: 300, lineMs: 50 });
    admission.acquireNow();
    const waits = admission.acquire();
    expect(await admission.acquire()).toMatchObject({ admitted: false, reason: "line_full" });
    clock.advance(300);
    expect(await waits).toMatchObject({ admitted: false, reason: "waited_too_long" });
    expect(await admission.acquire({ deadlineMs: 0 })).toMatchObject({ admitted: false, reason: "deadline" });
    expect(await admission.acquire({ signal: AbortSignal.abort() })).toMatchObject({
      admitted: false,
      reason: "cancelled",
    });
    await admission.close();
    expect(await admission.acquire()).toMatchObject({ admitted: false, reason: "closed" });
  });

  it("leaves the line when its signal is aborted, and no listener stays on the signal", async () => {
    const { clock, admission } = face({ slots: 1 });
    const holder = admission.acquireNow();
    const abort = new AbortController();
    let listeners = 0;
    const { signal } = abort;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    const asked = admission.acquire({ signal });
    expect([admission.stats().waiting, listeners]).toEqual([1, 1]);
    abort.abort();
    expect(await asked).toEqual({ admitted: false, reason: "cancelled", retryAfterMs: 0, shouldRetry: false });
    expect([admission.stats().waiting, listeners]).toEqual([0, 0]);
    if (holder?.admitted) holder.release();
    clock.settle();
    expect(admission.stats().active).toBe(0);
  });

  it("takes its listener away from the signal of a request that goes in", async () => {
    const { clock, admission } = face({ slots: 1 });
    const abort = new AbortController();
    const asked = admission.acquire({ signal: abort.signal });
    clock.settle();
    const permit = await asked;
    abort.abort();
    expect(admission.stats()).toMatchObject({ active: 1, shed: { cancelled: 0 }, wasted: 0 });
    if (permit.admitted) permit.release();
    expect(admission.stats()).toMatchObject({ active: 0, wasted: 1 });
  });
});

describe("acquireNow", () => {
  it("gives a permit, a refusal, or nothing when the request would have to wait", () => {
    const { admission } = face({ slots: 1, lineMs: 50, order: "fifo" });
    expect(admission.acquireNow()).toMatchObject({ admitted: true });
    expect(admission.acquireNow()).toBeUndefined();
    expect(admission.stats()).toMatchObject({ admitted: 1, waiting: 0, shed: { line_full: 0 } });
    void admission.acquire();
    expect(admission.acquireNow()).toMatchObject({ admitted: false, reason: "line_full" });
  });

  it("does not pass those who wait", () => {
    const { clock, admission } = face({ slots: 1 });
    const holder = admission.acquireNow();
    void admission.acquire();
    if (holder?.admitted) holder.release();
    expect(admission.acquireNow()).toBeUndefined();
    clock.settle();
    expect(admission.stats()).toMatchObject({ active: 1, waiting: 0 });
  });

  it("asks to wait where those who came first would make room", () => {
    const { admission } = face({ slots: 1, lineMs: 50, order: "lifo" });
    admission.acquireNow();
    void admission.acquire();
    expect(admission.acquireNow()).toBeUndefined();
  });
});

describe("run", () => {
  it("gives the value of the work, and the slot back", async () => {
    const { clock, admission } = face({ slots: 1 });
    const ran = admission.run(async (permit) => permit.remainingMs(), { deadlineMs: 500 });
    clock.settle();
    expect(await ran).toEqual({ admitted: true, value: 500 });
    expect(admission.stats()).toMatchObject({ active: 0, admitted: 1 });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("boom");
      },
    ],
    ["rejects", () => Promise.reject(new Error("boom"))],
  ])("passes on what work that %s says, gives the slot back, and learns nothing from it", async (_title, work) => {
    const { clock, admission } = face({ slots: 1, guessMs: 77 });
    const ran = admission.run(work);
    clock.settle();
    await expect(ran).rejects.toThrow("boom");
    expect(admission.stats()).toMatchObject({ active: 0, workMs: 77 });
  });

  it("never runs work whose caller has left", async () => {
    const { clock, admission } = face({ slots: 1 });
    const abort = new AbortController();
    let ran = 0;
    const asked = admission.run(() => ran++, { signal: abort.signal });
    abort.abort();
    clock.settle();
    expect(await asked).toMatchObject({ admitted: false, reason: "cancelled" });
    expect(ran).toBe(0);
  });

  it("counts work as late that ends after its deadline, and as wasted when the caller had left", async () => {
    const { clock, admission } = face({ slots: 2 });
    const abort = new AbortController();
    const held: (() => void)[] = [];
    const work = () => new Promise<void>((resolve) => held.push(resolve));
    const runs = [admission.run(work, { deadlineMs: 100 }), admission.run(work, { signal: abort.signal })];
    clock.advance(101);
    abort.abort();
    for (const end of held) end();
    await Promise.all(runs);
    expect(admission.stats()).toMatchObject({ late: 1, wasted: 1, active: 0 });
  });
});

describe("a deadline", () => {
  it("is counted down for the work", async () => {
    const { clock, admission } = face();
    const permit = admission.acquireNow({ deadlineMs: 250 });
    clock.advance(100);
    expect(permit?.admitted && permit.remainingMs()).toBe(150);
    clock.advance(1000);
    expect(permit?.admitted && permit.remainingMs()).toBe(0);
    const free = admission.acquireNow({ deadlineMs: Number.POSITIVE_INFINITY });
    expect(free?.admitted && free.remainingMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it.each([0, -1, Number.NEGATIVE_INFINITY])(
    "of %s ms is past, and refused without being worth a retry",
    async (deadlineMs) => {
      const { admission } = face();
      const refused = { admitted: false, reason: "deadline", shouldRetry: false };
      expect(await admission.acquire({ deadlineMs })).toMatchObject(refused);
      expect(admission.acquireNow({ deadlineMs })).toMatchObject(refused);
    },
  );

  it.each([1e15, Number.MAX_VALUE, Number.POSITIVE_INFINITY])("of %s ms is as good as none", async (deadlineMs) => {
    const { clock, admission } = face({ slots: 1 });
    expect(admission.acquireNow({ deadlineMs })).toMatchObject({ admitted: true });
    const waits = admission.acquire({ deadlineMs });
    clock.advance(300);
    expect(await waits).toMatchObject({ reason: "waited_too_long" });
  });

  it("that passes before the request has started is past", async () => {
    const { clock, admission } = face({ slots: 1 });
    const asked = admission.acquire({ deadlineMs: 10 });
    clock.block(11);
    clock.settle();
    expect(await asked).toMatchObject({ admitted: false, reason: "deadline" });
    expect(admission.stats().active).toBe(0);
  });
});

describe("arguments that no waiting can mend", () => {
  it.each([Number.NaN, "100", null, 10n])("deadlineMs %s is a TypeError", async (deadlineMs) => {
    const { admission } = face();
    const options = { deadlineMs: deadlineMs as number };
    const fault = {
      name: "TypeError",
      code: "ERR_SPILLWAY_INVALID_OPTION",
      message: expect.stringContaining("deadlineMs"),
    };
    await expect(admission.acquire(options)).rejects.toMatchObject(fault);
    await expect(admission.run(() => 1, options)).rejects.toMatchObject(fault);
    expect(() => admission.acquireNow(options)).toThrow(TypeError);
    expect(() => admission.enter(() => {}, options)).toThrow(TypeError);
    expect(admission.stats()).toMatchObject({ admitted: 0, active: 0, waiting: 0 });
  });

  it.each([
    [0, RangeError],
    [-1, RangeError],
    [1.5, RangeError],
    [Number.NaN, RangeError],
    [Number.POSITIVE_INFINITY, RangeError],
    ["2", TypeError],
    [null, TypeError],
  ])("cost %s is an error that says so", (cost, kind) => {
    const { admission } = face();
    const ask = () => admission.acquireNow({ cost: cost as number });
    expect(ask).toThrow(kind);
    expect(ask).toThrow("A cost must be a whole number of slots from 1");
  });

  it.each<[string, unknown]>([
    ["an object such as { deadlineMs: 500 }, got null", null],
    ["an object such as { deadlineMs: 500 }, got 5", 5],
    ['an object such as { deadlineMs: 500 }, got "x"', "x"],
    ["an object such as { deadlineMs: 500 }, got an array of 0", []],
    ['cost, deadlineMs, signal and attempt only, got "deadLineMs"', { deadLineMs: 5 }],
  ])("options must be %s", async (message, options) => {
    const { admission } = face();
    const fault = {
      name: "TypeError",
      code: "ERR_SPILLWAY_INVALID_OPTION",
      message: `The options must be ${message}.`,
    };
    await expect(admission.acquire(options as object)).rejects.toMatchObject(fault);
    await expect(admission.run(() => 1, options as object)).rejects.toMatchObject(fault);
    expect(() => admission.acquireNow(options as object)).toThrow(fault.message);
    expect(() => admission.enter(() => {}, options as object)).toThrow(fault.message);
    expect(admission.stats()).toMatchObject({ admitted: 0, active: 0, waiting: 0 });
  });

  it("what is to be called must be a function", async () => {
    const { admission, clock } = face();
    await expect(admission.run("work" as never)).rejects.toThrow('The work must be a function, got "work".');
    expect(() => admission.enter("answer" as never)).toThrow('The answer must be a function, got "answer".');
    expect(() => enterWithReply(admission, undefined, {} as never, {} as never, undefined as never)).toThrow(
      "The onAnswer must be a function, got undefined.",
    );
    clock.settle();
    expect(admission.stats()).toMatchObject({ admitted: 0, active: 0 });
  });

  it.each<[string, object]>([
    ["an empty object", {}],
    ["one that cannot be listened to", { aborted: false }],
    ["one that cannot be left", { aborted: false, addEventListener: () => {} }],
  ])("a signal that is none is a TypeError, and takes no slot: %s", async (_title, signal) => {
    const { admission } = face();
    const options = { signal: signal as AbortSignal };
    expect(() => admission.acquireNow(options)).toThrow("The signal must be an AbortSignal");
    await expect(admission.acquire(options)).rejects.toThrow("The signal must be an AbortSignal");
    expect(admission.stats()).toMatchObject({ active: 0, admitted: 0 });
  });
});

describe("close", () => {
  it("turns away the line and newcomers, lets work under way end, and leaves no timer", async () => {
    const { clock, admission } = face({ slots: 1 });
    const permit = admission.acquireNow();
    const waits = admission.acquire();
    await admission.close();
    await admission.close();
    expect(await waits).toEqual({ admitted: false, reason: "closed", retryAfterMs: 1000, shouldRetry: true });
    expect(clock.pendingTimers).toBe(0);
    if (permit?.admitted) permit.release();
    expect(admission.stats()).toMatchObject({ active: 0, waiting: 0, shed: { closed: 1 } });
    const other = face();
    await other.admission[Symbol.asyncDispose]();
    expect(other.admission.acquireNow()).toMatchObject({ reason: "closed" });
  });
});

describe("options", () => {
  it("may all be left out", () => {
    expect(createAdmission().stats()).toMatchObject({ slots: 8, mode: "enforce", lineCapacity: 32, active: 0 });
  });

  it.each<[string, unknown]>([
    ["slots", 0],
    ["slots", 1.5],
    ["slots", "8"],
    ["slots", 1_000_001],
    ["lineMs", -1],
    ["lineMs", Number.NaN],
    ["lineItems", -1],
    ["lineItems", 0.5],
    ["waitMs", -1],
    ["waitMs", "300"],
    ["order", "random"],
    ["mode", true],
    ["retryAfter", "soon"],
    ["retryAfter", -1],
    ["retryAfter", Number.NaN],
    ["retryCapMs", 0],
    ["retryShare", 0],
    ["retryShare", 1.1],
  ])("%s %s is refused with its name, at the start and while running", (name, value) => {
    const { admission } = face();
    const before = admission.stats();
    for (const attempt of [() => createAdmission({ [name]: value }), () => admission.tune({ [name]: value })]) {
      expect(attempt).toThrow(SpillwayError);
      expect(attempt).toThrow(`Option ${name} must be`);
    }
    expect(admission.stats()).toEqual(before);
  });

  it.each<[string, unknown]>([
    ["guessMs", 0],
    ["guessMs", Number.POSITIVE_INFINITY],
    ["clock", {}],
    ["clock", null],
    ["random", 4],
    ["linesMs", 4],
  ])("%s %s is refused at the start", (name, value) => {
    expect(() => createAdmission({ [name]: value })).toThrow(new RegExp(`Option (options\\.)?${name} must be`));
  });

  it("that are no object are refused", () => {
    expect(() => createAdmission(null as never)).toThrow("Option options must be an object, got null.");
    expect(() => createAdmission([] as never)).toThrow("Option options must be an object, got an array of 0.");
    expect(() => withAdmission(face().admission, () => {}, null as never)).toThrow("Option options must be an object");
    expect(() => face().admission.tune({ guessMs: 4 } as never)).toThrow(
      "Option options.guessMs must be one of slots,",
    );
  });
});
