import { algorithmOf, type BucketShape, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { TokenBucketShape } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import { type LeasableWindowShape, leaseLifeUs } from "../../packages/spillway/src/algorithms/window-lease.ts";
import type { Policy } from "../../packages/spillway/src/policy.ts";
import type { TakeBucket } from "../../packages/spillway/src/stores/store.ts";
import { type Gauge, Meter } from "./lease-meter.ts";
import { shapeOf } from "./lease-store.ts";
import { TwoPeriodsGauge, windowGauge } from "./lease-window-meter.ts";

/** What holds the admissions of a bucket against all of its policies. */
export function gaugeOf(configs: readonly Policy[], isClockSteady: boolean): Gauge {
  if (configs[0]?.shape.kind === "token-bucket")
    return new Meter(configs.map((policy) => shapeOf({ key: "", policy })));
  return windowGauge(
    configs.map(({ shape }) => shape as LeasableWindowShape),
    isClockSteady,
  );
}

/** What a bucket would serve now, in units of its gauge. */
export function unitsOn(state: BucketState, { shape }: Policy, gauge: Gauge): number {
  if (state.kind === "token-bucket") return (gauge as Meter).inUnits(state.level, shape as TokenBucketShape);
  return algorithmOf(shape).remaining(state, shape) * gauge.unitsPerToken;
}

/** What counts for the bucket as it stands, in units of its gauge. @param trueUs what to add to the store's time for true time. */
export function standingOf(gauge: Gauge, state: BucketState, trueUs: number): Pick<Gauge, "level" | "capacity"> {
  return gauge instanceof TwoPeriodsGauge && "startUs" in state ? gauge.standingAt(state.startUs + trueUs) : gauge;
}

/** How long what a call leases may live. */
export function lifeOf(state: BucketState, { policy, report }: TakeBucket, nowUs: number): number {
  return leaseLifeUs(state, policy.shape, report?.lifeUs ?? 0, nowUs);
}

/** No wait that is told is longer. */
export function longestWaitUs(state: BucketState, shape: BucketShape, longestLifeUs: number): number {
  if (shape.kind !== "token-bucket" || state.kind !== "token-bucket")
    return 2 * (shape as LeasableWindowShape).periodUs;
  return shape.fullUs + (state.level < 0 ? shape.fullUs : 0) + longestLifeUs + shape.tickUs;
}
