import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Policy, type PolicyOptions, resolvePolicy } from "../policy.ts";
import { Backstop, type BackstopBucket } from "./backstop.ts";
import { LetGoBuckets } from "./let-go-buckets.ts";
import { ShareBuckets } from "./share-buckets.ts";

/** What each process is allowed of the limits, and what it may come to have at least, from some time on. */
interface Epoch {
  share: number;
  readonly least: number;
}

/** A process whose store has been away since 0. One that remembers one key keeps buckets of 16 of them and 16 times beside. */
class Process {
  readonly #policy: Policy;
  readonly #backstop: Backstop;
  readonly #buckets: ShareBuckets;
  readonly #letGo: LetGoBuckets;
  readonly admitted = new Map<string, number>();

  constructor(policy: Policy, maxKeys: number, epoch: () => Epoch, now: () => number, mostLetGo = maxKeys) {
    this.#policy = policy;
    this.#backstop = new Backstop(() => epoch().share, "backstop");
    this.#letGo = new LetGoBuckets(mostLetGo, () => epoch().least);
    this.#buckets = new ShareBuckets(maxKeys, (bucket) => this.#letGo.add(bucket, now()));
  }

  ask(key: string, cost: number, nowMs: number): boolean {
    const { allowed } = this.#backstop.decide(key, [cost], [this.#bucketOf(key, nowMs)], 0, nowMs * 1000);
    if (allowed) this.admitted.set(key, this.admittedOf(key) + cost);
    return allowed;
  }

  admittedOf(key: string): number {
    return this.admitted.get(key) ?? 0;
  }

  /** The share has changed: every bucket is brought to now, as if its key had been asked for. */
  look(nowMs: number): void {
    this.#letGo.watchShare(nowMs);
    for (const bucket of this.#buckets.values()) this.#backstop.decide(bucket.key, [0], [bucket], 0, nowMs * 1000);
  }

  owed(nowMs: number): Map<string, number> {
    const owed = new Map<string, number>();
    const add = (key: string, tokens: number): void => void owed.set(key, (owed.get(key) ?? 0) + tokens);
    for (const bucket of this.#buckets.values()) add(bucket.key, this.#backstop.takeOwed(bucket, 0, 0, nowMs * 1000));
    for (const debtor of this.#letGo.debtors())
      for (const { key, tokens } of this.#letGo.takeOwed(debtor, 0, nowMs)) add(key, tokens);
    return owed;
  }

  #bucketOf(key: string, nowMs: number): BackstopBucket {
    const known = this.#buckets.find(key, this.#policy.name);
    if (known !== undefined) return known;
    // Nothing else is remembered of it, so it counts as never seen.
    const start = { decidedMs: Number.NEGATIVE_INFINITY, view: undefined, awaySinceMs: 0, leaseMs: 0, withheldMs: 0 };
    const bucket = this.#backstop.open(key, this.#policy, 0, start, nowMs);
    this.#letGo.reopen(bucket, nowMs);
    this.#buckets.add(bucket);
    return bucket;
  }
}

const LIMITS: readonly PolicyOptions[] = [
  { name: "bucket", limit: 20, period: "1s", burst: 8 },
  { name: "small", limit: 3, period: "1s", burst: 2 },
  { name: "fixed", limit: 8, period: "1s", algorithm: "fixed-window" },
  { name: "counter", limit: 8, period: "1s", algorithm: "sliding-window-counter" },
  { name: "log", limit: 8, period: "1s", algorithm: "sliding-window-log" },
];

interface Step {
  readonly key: number;
  readonly times: number;
  readonly afterMs: number;
  /** A share that is anew from then on, as a part of what lies above the least one. */
  readonly share: number | undefined;
  readonly least: number | undefined;
}

const part = fc.integer({ min: 1, max: 10 }).map((tenths) => tenths / 10);
const rarely = (value: fc.Arbitrary<number>): fc.Arbitrary<number | undefined> =>
  fc.oneof({ weight: 30, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const step: fc.Arbitrary<Step> = fc.record({
  key: fc.oneof(fc.nat(60), fc.nat(3)),
  times: fc.integer({ min: 1, max: 4 }),
  afterMs: fc.oneof(fc.constant(0), fc.nat(10), fc.nat(200)),
  share: rarely(part),
  least: rarely(part),
});

/** Windows that begin at other times meet other shares, so that one cannot be held against the other. */
const steady = step.map((each) => ({ ...each, share: undefined, least: undefined }));

/** Plays the same story to a process that lets buckets go and to one that never does. */
function play(
  options: PolicyOptions,
  steps: readonly Step[],
  check: (few: Process, many: Process, key: string, nowMs: number) => void,
) {
  const policy = resolvePolicy(options, "policy");
  let epoch: Epoch = { share: 0.5, least: 0.25 };
  let nowMs = 10_000;
  const processes = [1, 1000].map(
    (keys) =>
      new Process(
        policy,
        keys,
        () => epoch,
        () => nowMs,
      ),
  ) as [Process, Process];
  for (const { key, times, afterMs, share, least } of steps) {
    nowMs += afterMs;
    if (share !== undefined || least !== undefined) {
      for (const each of processes) each.look(nowMs);
      const lower = least ?? epoch.least;
      epoch = { least: lower, share: lower + (1 - lower) * (share ?? 0) };
      for (const each of processes) each.look(nowMs);
    }
    for (let i = 0; i < times; i++) {
      for (const each of processes) each.ask(`key:${key}`, 1, nowMs);
      check(...processes, `key:${key}`, nowMs);
    }
  }
  return { processes, nowMs };
}

describe("buckets that were let go while the store is away", () => {
  it.each(LIMITS.filter(({ algorithm }) => algorithm !== "sliding-window-counter"))(
    "admit never more than if they had been kept ($name)",
    (options) => {
      fc.assert(
        fc.property(
          fc.array(options.algorithm === undefined ? step : steady, { minLength: 80, maxLength: 250, size: "max" }),
          (steps) => {
            play(options, steps, (few, many, key) => {
              if (few.admittedOf(key) > many.admittedOf(key)) throw new Error(`${key} got in early`);
            });
          },
        ),
        { numRuns: 25, endOnFailure: true },
      );
    },
  );

  it("admit never more than a sliding window counter does, which estimates by where its windows begin", () => {
    const options = LIMITS[3] as PolicyOptions;
    const limit = options.limit / 2;
    fc.assert(
      fc.property(fc.array(steady, { minLength: 80, maxLength: 250, size: "max" }), (steps) => {
        const times = new Map<string, number[]>();
        play(options, steps, (few, _many, key, nowMs) => {
          const its = times.get(key) ?? [];
          times.set(key, its);
          while (its.length < few.admittedOf(key)) its.push(nowMs);
          for (const [i, fromMs] of its.entries())
            if (its.length - i > limit * (1 + (nowMs - fromMs) / 1000)) throw new Error(`${key} got in early`);
        });
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it("are let in again when their time has come", () => {
    const policy = resolvePolicy({ name: "p", limit: 10, period: "1s", burst: 10 }, "policy");
    let nowMs = 10_000;
    const process = new Process(
      policy,
      1,
      () => ({ share: 0.5, least: 0.5 }),
      () => nowMs,
    );
    while (process.ask("hot", 1, nowMs));
    expect(process.admittedOf("hot")).toBe(5);
    for (let i = 0; i < 20; i++) process.ask(`other:${i}`, 1, nowMs);
    expect(process.ask("hot", 1, nowMs)).toBe(false);
    nowMs += 205;
    expect([process.ask("hot", 1, nowMs), process.ask("hot", 1, nowMs)]).toEqual([true, false]);
    for (let i = 0; i < 20; i++) process.ask(`other:${i}`, 1, nowMs);
    nowMs += 1005;
    while (process.ask("hot", 1, nowMs));
    expect(process.admittedOf("hot")).toBe(11);
  });

  it("take as much longer as the share that they fill by has shrunk", () => {
    const policy = resolvePolicy({ name: "p", limit: 3, period: "1s", burst: 2 }, "policy");
    let nowMs = 10_000;
    let epoch = { share: 0.5, least: 0.5 };
    const process = new Process(
      policy,
      1,
      () => epoch,
      () => nowMs,
    );
    while (process.ask("hot", 1, nowMs));
    for (let i = 0; i < 20; i++) process.ask(`other:${i}`, 1, nowMs);
    nowMs += 100;
    process.look(nowMs);
    epoch = { share: 0.1, least: 0.1 };
    process.look(nowMs);
    // A half share would have brought the token by then; a tenth brings a third of what it lacks.
    nowMs += 600;
    expect(process.ask("hot", 1, nowMs)).toBe(false);
    nowMs += 3000;
    expect(process.ask("hot", 1, nowMs)).toBe(true);
  });

  it("make unseen keys of their set start with nothing where there is no room to tell them apart", () => {
    const policy = resolvePolicy({ name: "p", limit: 10, period: "1s", burst: 10 }, "policy");
    let nowMs = 10_000;
    const process = new Process(
      policy,
      1,
      () => ({ share: 1, least: 1 }),
      () => nowMs,
    );
    const isIn = (key: string): boolean => process.ask(key, 1, nowMs);
    for (let i = 0; i < 100; i++) while (isIn(`key:${i}`));
    expect(isIn("unseen")).toBe(false);
    nowMs += 110;
    expect([isIn("unseen"), isIn("unseen")]).toEqual([true, false]);
    nowMs += 1100;
    expect(isIn("another")).toBe(true);
  });

  it("are owed for at least as much as if they had been kept, as long as there is room for their debts", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 300, size: "max" }), fc.nat(1500), (steps, afterMs) => {
        const policy = resolvePolicy(LIMITS[0] as PolicyOptions, "policy");
        let nowMs = 10_000;
        const epoch = { share: 0.5, least: 0.5 };
        const few = new Process(
          policy,
          1,
          () => epoch,
          () => nowMs,
          1000,
        );
        const many = new Process(
          policy,
          1000,
          () => epoch,
          () => nowMs,
        );
        for (const { key, afterMs: ms } of steps) {
          nowMs += ms % 4;
          const name = `key:${key}`;
          // What the few refuse is not asked of the many, so that both have admitted the same.
          if (few.ask(name, 1, nowMs) && !many.ask(name, 1, nowMs)) throw new Error("got in early");
        }
        nowMs += afterMs;
        const told = few.owed(nowMs);
        for (const [key, tokens] of many.owed(nowMs)) expect(told.get(key) ?? 0).toBeGreaterThanOrEqual(tokens);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
