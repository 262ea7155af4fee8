import type { BucketShape } from "../../algorithms/bucket.ts";
import type { Policy } from "../../policy.ts";
import type { Adjustment, AskRun, Beat, BucketAddress, LeaseReport, TakeBucket, TakeCall } from "../store.ts";

/** Opens the arguments of every script: the policies of the call, each once. */
export class PolicyTable {
  readonly #numbers = new Map<Policy, number>();
  readonly #args: string[] = [];

  /** The number of a policy in the call, from 1. */
  numberOf(policy: Policy): number {
    let number = this.#numbers.get(policy);
    if (number === undefined) {
      number = this.#numbers.size + 1;
      this.#numbers.set(policy, number);
      this.#args.push(policyText(policy.shape));
    }
    return number;
  }

  /** The arguments of a call with `rest` behind the policies. */
  args(rest: readonly (number | string)[]): string[] {
    return [arrayOf([this.#numbers.size, ...this.#args, ...rest])];
  }
}

/** A JSON array. Numbers keep all their digits: JavaScript writes as many as it takes to read the same number back. */
function arrayOf(values: readonly (number | string)[]): string {
  return `[${values.join(",")}]`;
}

/** The kind of a policy and its four numbers. */
function policyText(shape: BucketShape): string {
  switch (shape.kind) {
    case "token-bucket":
      return `"t",${shape.unitsPerToken},${shape.unitsPerTick},${shape.tickUs},${shape.burst}`;
    case "fixed-window":
      return `"f",${shape.limit},${shape.periodUs},${shape.aligned ? 1 : 0},0`;
    case "sliding-window-counter":
      return `"c",${shape.limit},${shape.periodUs},0,0`;
    case "sliding-window-log":
      return `"l",${shape.limit},${shape.periodUs},0,0`;
  }
}

const SHORT_NUMBERS = new WeakMap<BucketShape, string>();

/** The numbers of a policy in the short forms: a token bucket with a tick of 1 us, a fixed window, or a counter that reports. */
function shortNumbersOf(shape: BucketShape): string | undefined {
  let numbers = SHORT_NUMBERS.get(shape);
  if (numbers !== undefined) return numbers;
  if (shape.kind === "token-bucket" && shape.tickUs === 1)
    numbers = `${shape.unitsPerToken},${shape.unitsPerTick},${shape.burst}`;
  else if (shape.kind === "fixed-window") numbers = `${-shape.limit},${shape.periodUs},${shape.aligned ? 1 : 0}`;
  else if (shape.kind === "sliding-window-counter") numbers = `${-shape.limit},${shape.periodUs},2`;
  if (numbers !== undefined) SHORT_NUMBERS.set(shape, numbers);
  return numbers;
}

/** The arguments of `lua/take.lua`. */
export function encodeTake(call: TakeCall): string[] {
  const args = encodeCounter(call) ?? encodeRunEach(call) ?? encodeOneRun(call);
  return args === undefined ? encodeWhole(call) : [args];
}

/** One sliding window counter with one run: a key with that policy alone. `undefined` for any other call. */
function encodeCounter({ buckets, runs }: TakeCall): string | undefined {
  const shape = buckets[0]?.policy.shape;
  if (shape?.kind !== "sliding-window-counter" || buckets.length !== 1 || runs.length !== 1) return undefined;
  const { count, charges } = runs[0] as AskRun;
  if (buckets[0]?.report !== undefined || charges.length !== 1) return undefined;
  return `["c",${shape.limit},${shape.periodUs},${charges[0]?.cost},${count}]`;
}

/**
 * Token buckets of one policy without reports, each with one run, all of one cost: a key without leases, or several.
 * `undefined` for any other call.
 */
function encodeRunEach({ buckets, runs }: TakeCall): string | undefined {
  const first = runs[0];
  const policy = buckets[0]?.policy;
  const cost = first?.charges[0]?.cost;
  const numbers = policy?.shape.kind === "token-bucket" ? shortNumbersOf(policy.shape) : undefined;
  if (numbers === undefined || first === undefined || runs.length !== buckets.length) return undefined;
  let alike = true;
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i] as TakeBucket;
    const { count, charges } = runs[i] as AskRun;
    const charge = charges[0];
    if (bucket.policy !== policy || bucket.report !== undefined) return undefined;
    if (charges.length !== 1 || charge?.bucket !== i || charge.cost !== cost) return undefined;
    alike &&= count === first.count;
  }
  const letter = buckets.length === 1 ? '"s"' : '"m"';
  const counts = alike ? first.count : runs.map(({ count }) => count).join(",");
  return `[${letter},${numbers},${cost},${counts}]`;
}

/**
 * Buckets and windows that all report, alike but for wish and settlements, or token buckets and fixed windows none of which does;
 * and one run of one cost on all of them, or none: a key with leases, or with several policies. `undefined` for any other call.
 */
function encodeOneRun({ buckets, runs }: TakeCall): string | undefined {
  const [run] = runs;
  const first = buckets[0]?.report;
  const cost = run?.charges[0]?.cost ?? 0;
  if (buckets.length === 0 || runs.length > 1 || (run !== undefined && run.charges.length !== buckets.length))
    return undefined;
  if (first !== undefined && first.lifeUs <= 0) return undefined;
  let text = `["r",${first?.lifeUs ?? NO_REPORTS},${run?.count ?? NO_RUN},${cost}`;
  if (first !== undefined) text += `,${first.demand},${first.weight}`;
  for (let i = 0; i < buckets.length; i++) {
    const { policy, report } = buckets[i] as TakeBucket;
    const charge = run?.charges[i];
    const numbers = shortNumbersOf(policy.shape);
    if (numbers === undefined || !isLike(report, first)) return undefined;
    if (report === undefined && policy.shape.kind === "sliding-window-counter") return undefined;
    if (charge !== undefined && (charge.bucket !== i || charge.cost !== cost)) return undefined;
    text += `,${numbers}`;
    if (report !== undefined) text += `,${report.wish}${settlementsText(report)}`;
  }
  return `${text}]`;
}

/** Stand where the life of reports and the number of asks would. */
const NO_REPORTS = 0;
const NO_RUN = -1;

function isLike(report: LeaseReport | undefined, first: LeaseReport | undefined): boolean {
  return (
    report === first ||
    (report?.lifeUs === first?.lifeUs && report?.demand === first?.demand && report?.weight === first?.weight)
  );
}

function settlementsText({ settlements }: LeaseReport): string {
  let text = `,${settlements.length}`;
  for (const { id, settled, returned } of settlements) text += `,${id},${settled},${returned}`;
  return text;
}

function encodeWhole({ buckets, runs }: TakeCall): string[] {
  const table = new PolicyTable();
  const rest: number[] = [];
  for (const { policy, report } of buckets) {
    const number = table.numberOf(policy);
    if (report === undefined) rest.push(number);
    else {
      const { wish, lifeUs, demand, weight, settlements } = report;
      rest.push(-number, wish, lifeUs, demand, weight, settlements.length);
      for (const { id, settled, returned } of settlements) rest.push(id, settled, returned);
    }
  }
  for (const { count, charges } of runs) {
    rest.push(count, charges.length);
    for (const { bucket, cost } of charges) rest.push(bucket + 1, cost);
  }
  return table.args(rest);
}

/** The arguments of `lua/peek.lua` and `lua/reset.lua`. */
export function encodeAddresses(addresses: readonly BucketAddress[]): string[] {
  const table = new PolicyTable();
  return table.args(addresses.map(({ policy }) => table.numberOf(policy)));
}

/** The arguments of `lua/block.lua`. */
export function encodeBlock(addresses: readonly BucketAddress[], durationUs: number): string[] {
  const table = new PolicyTable();
  return table.args([...addresses.map(({ policy }) => table.numberOf(policy)), durationUs]);
}

/** The arguments of `lua/adjust.lua`. */
export function encodeAdjustments(adjustments: readonly Adjustment[]): string[] {
  const table = new PolicyTable();
  return table.args(adjustments.flatMap(({ policy, tokens }) => [table.numberOf(policy), tokens]));
}

/** The arguments of `lua/allot-shares.lua`. */
export function encodeBeat({ id, number, lifeMs, share, even, demand, replicas, leaves }: Beat): string[] {
  return [id, ...[number, lifeMs, share, even, demand, replicas, leaves ? 1 : 0].map(String)];
}
