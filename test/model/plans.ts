import fc from "fast-check";

/** Which bucket: a key, one of the setup's two policy names, and its old or new numbers. */
export interface BucketPlan {
  readonly key: number;
  readonly name: number;
  readonly config: number;
}

/** How much time passes before a step. All but `"pass"` and `"back"` look at how the bucket stands then. */
export type GapPlan =
  | { readonly until: "pass"; readonly us: number }
  | { readonly until: "part of full"; readonly part: number }
  | { readonly until: "ticks"; readonly ticks: number; readonly offUs: number }
  | { readonly until: "escrow dies"; readonly offUs: number }
  | { readonly until: "cost fits"; readonly cost: CostPlan; readonly offUs: number }
  | { readonly until: "key expires"; readonly offMs: number }
  | { readonly until: "back"; readonly us: number };

/** A cost in tokens, or one that is chosen by what the bucket has or can have. */
export type CostPlan =
  | { readonly of: "tokens"; readonly tokens: number }
  | { readonly of: "remaining" | "capacity"; readonly off: number };

/** One of the leases granted so far, or one that never was. */
export interface SettlementPlan {
  readonly pick: number;
  readonly known: boolean;
  readonly settled: CostPlan;
  readonly returned: number;
}

export interface ReportPlan {
  readonly wish: CostPlan;
  readonly life: { readonly us: number } | { readonly partOfFull: number };
  readonly demand: number;
  readonly weight: number;
  readonly settlements: readonly SettlementPlan[];
}

export interface RunPlan {
  readonly count: number;
  /** One per bucket of the call; `undefined` leaves the bucket out. */
  readonly costs: readonly (CostPlan | undefined)[];
}

export interface TakePlan {
  readonly gap: GapPlan;
  /** Every bucket is charged what the first one is, and reports the same but for wish and settlements: this has short forms. */
  readonly alike?: boolean;
  readonly buckets: readonly { readonly bucket: BucketPlan; readonly report: ReportPlan | undefined }[];
  readonly runs: readonly RunPlan[];
}

/** Which steps of the clock a run makes: `"still"` none (the clock is real, and its time of a reset unknown), `"backward"` some back. */
export type Mood = "still" | "busy" | "idle" | "backward";

/** What a suite varies. */
export interface PlanOptions {
  readonly leases: boolean;
  /** Runs take turns. */
  readonly moods: readonly Mood[];
}

const bucket: fc.Arbitrary<BucketPlan> = fc.record({
  key: fc.integer({ min: 0, max: 1 }),
  name: fc.integer({ min: 0, max: 1 }),
  config: fc.integer({ min: 0, max: 1 }),
});

const off = fc.integer({ min: -1, max: 1 });

const cost: fc.Arbitrary<CostPlan> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ of: fc.constant("tokens" as const), tokens: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ of: fc.constant("remaining" as const), off }) },
  { weight: 1, arbitrary: fc.record({ of: fc.constant("capacity" as const), off }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { of: "tokens" as const, tokens: 1_000_000 },
      { of: "tokens" as const, tokens: Number.MAX_SAFE_INTEGER },
    ),
  },
);

const noGap: fc.Arbitrary<GapPlan> = fc.constant({ until: "pass", us: 0 });

function gapPlan(mood: Mood): fc.Arbitrary<GapPlan> {
  if (mood === "still") return noGap;
  const weight = GAP_WEIGHTS[mood];
  return fc.oneof(
    { weight: weight.none, arbitrary: noGap },
    {
      weight: weight.pass,
      arbitrary: fc.record({ until: fc.constant("pass" as const), us: fc.integer({ min: 1, max: 5000 }) }),
    },
    {
      weight: weight.full,
      arbitrary: fc.record({
        until: fc.constant("part of full" as const),
        part: fc.constantFrom(0.01, 0.1, 0.25, 0.5, 1, 1.1, 3),
      }),
    },
    {
      weight: weight.ticks,
      arbitrary: fc.record({
        until: fc.constant("ticks" as const),
        ticks: fc.integer({ min: 0, max: 3 }),
        offUs: off,
      }),
    },
    { weight: weight.dies, arbitrary: fc.record({ until: fc.constant("escrow dies" as const), offUs: off }) },
    { weight: weight.fits, arbitrary: fc.record({ until: fc.constant("cost fits" as const), cost, offUs: off }) },
    { weight: weight.expires, arbitrary: fc.record({ until: fc.constant("key expires" as const), offMs: off }) },
    {
      weight: weight.back,
      arbitrary: fc.record({
        until: fc.constant("back" as const),
        us: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(1_000_000, 172_800_000_000)),
      }),
    },
  );
}

/** Weights of the gaps: a run that does everything at once seldom gets deep into anything. */
const GAP_WEIGHTS = {
  busy: { none: 8, pass: 4, full: 1, ticks: 2, dies: 3, fits: 3, expires: 0, back: 0 },
  idle: { none: 2, pass: 1, full: 4, ticks: 1, dies: 3, fits: 3, expires: 4, back: 0 },
  backward: { none: 4, pass: 2, full: 2, ticks: 1, dies: 3, fits: 3, expires: 1, back: 4 },
} as const;

const settlement: fc.Arbitrary<SettlementPlan> = fc.record({
  pick: fc.nat({ max: 20 }),
  known: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  settled: fc.oneof(
    fc.record({ of: fc.constant("capacity" as const), off: fc.constant(0) }),
    fc.record({ of: fc.constant("tokens" as const), tokens: fc.integer({ min: 0, max: 4 }) }),
  ),
  returned: fc.integer({ min: 0, max: 5 }),
});

const report: fc.Arbitrary<ReportPlan> = fc.record({
  wish: cost,
  life: fc.oneof(
    fc.record({ us: fc.constantFrom(1, 100, 1000, 10_000, 100_000, 3_600_000_000) }),
    fc.record({ us: fc.integer({ min: 1, max: 50_000 }) }),
    // Where buckets come to be contended while there is something left to share.
    fc.record({ partOfFull: fc.constantFrom(0.5, 1, 2) }),
  ),
  demand: fc.oneof(
    fc.integer({ min: 0, max: 10 }),
    fc.double({ min: 0, max: 100, noNaN: true }),
    fc.constantFrom(40, 1000),
  ),
  weight: fc.oneof(
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 40 }),
    fc.double({ min: 0, max: 1000, noNaN: true }),
  ),
  settlements: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(settlement, { minLength: 1, maxLength: 3 }) },
  ),
});

const count = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 50) },
);

function takePlan(leases: boolean, gap: fc.Arbitrary<GapPlan>): fc.Arbitrary<TakePlan> {
  const maybeReport = leases ? fc.option(report, { nil: undefined, freq: 4 }) : fc.constant(undefined);
  const short = fc.record({
    gap,
    buckets: fc.tuple(fc.record({ bucket, report: fc.constant(undefined) })),
    runs: fc.tuple(fc.record({ count, costs: fc.tuple(cost) })),
  });
  const single = fc.record({
    gap,
    buckets: fc.tuple(fc.record({ bucket, report: maybeReport })),
    runs: fc.array(fc.record({ count, costs: fc.tuple(cost) }), { maxLength: 2 }),
  });
  const lease = fc.record({
    gap,
    buckets: fc.tuple(fc.record({ bucket, report })),
    runs: fc.constant([]),
  });
  const several = fc.record({
    gap,
    buckets: fc.array(fc.record({ bucket, report: maybeReport }), { minLength: 2, maxLength: 4 }),
    runs: fc.array(
      fc.record({
        count,
        costs: fc.array(fc.option(cost, { nil: undefined, freq: 4 }), { minLength: 4, maxLength: 4 }),
      }),
      { maxLength: 3 },
    ),
  });
  const alike = fc.boolean().chain((reported) =>
    fc.record({
      gap,
      alike: fc.constant(true),
      buckets: fc.array(fc.record({ bucket, report: leases && reported ? report : fc.constant(undefined) }), {
        minLength: 1,
        maxLength: 3,
      }),
      runs: fc.array(
        fc.record({ count: fc.oneof(count, fc.constant(50)), costs: cost.map((one) => [one, one, one]) }),
        { maxLength: 1 },
      ),
    }),
  );
  const runEach = fc.record({
    gap,
    alike: fc.constant(true),
    buckets: bucket.map((one) => [0, 1].map((key) => ({ bucket: { ...one, key }, report: undefined }))),
    runs: fc.tuple(count, count, cost).map(([first, second, one]) => [
      { count: first, costs: [one] },
      { count: second, costs: [undefined, one] },
    ]),
  });
  return fc.oneof(
    { weight: 3, arbitrary: alike },
    { weight: 1, arbitrary: runEach },
    { weight: leases ? 1 : 3, arbitrary: short },
    { weight: leases ? 2 : 1, arbitrary: single },
    { weight: leases ? 3 : 0, arbitrary: lease },
    { weight: 2, arbitrary: several },
  );
}

/** One step of a run. */
export type StepPlan =
  | { readonly does: "take"; readonly plan: TakePlan }
  | { readonly does: "peek"; readonly gap: GapPlan; readonly buckets: readonly BucketPlan[] }
  | {
      readonly does: "adjust";
      readonly gap: GapPlan;
      readonly bucket: BucketPlan;
      readonly by: CostPlan;
      readonly give: boolean;
    }
  | { readonly does: "block"; readonly gap: GapPlan; readonly bucket: BucketPlan; readonly us: number }
  | { readonly does: "reset"; readonly gap: GapPlan; readonly bucket: BucketPlan }
  | { readonly does: "spoil"; readonly bucket: BucketPlan; readonly garbage: number };

/** Steps of one mood, each kind as often as it is worth. */
export function stepPlan(leases: boolean, mood: Mood): fc.Arbitrary<StepPlan> {
  const gap = gapPlan(mood);
  const take = fc.record({ does: fc.constant("take" as const), plan: takePlan(leases, gap) });
  const peek = fc.record({
    does: fc.constant("peek" as const),
    gap,
    buckets: fc.array(bucket, { minLength: 1, maxLength: 4 }),
  });
  const by = fc.oneof(cost, fc.record({ of: fc.constant("capacity" as const), off }));
  const adjust = fc.record({ does: fc.constant("adjust" as const), gap, bucket, by, give: fc.boolean() });
  const us = fc.constantFrom(0, 1, 999, 1000, 20_000, 1_000_000, 3_600_000_000, 31_622_400_000_000);
  const block = fc.record({ does: fc.constant("block" as const), gap, bucket, us });
  const reset = fc.record({ does: fc.constant("reset" as const), gap, bucket });
  const spoil = fc.record({ does: fc.constant("spoil" as const), bucket, garbage: fc.nat({ max: 1000 }) });
  return fc.oneof(
    { weight: 60, arbitrary: take },
    { weight: 8, arbitrary: peek },
    { weight: 8, arbitrary: adjust },
    { weight: 4, arbitrary: block },
    { weight: mood === "still" ? 0 : 3, arbitrary: reset },
    { weight: mood === "idle" ? 2 : 0, arbitrary: spoil },
  );
}
