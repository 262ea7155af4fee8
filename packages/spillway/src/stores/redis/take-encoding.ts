import type { BucketShape } from "../../algorithms/bucket.ts";
import type { Policy } from "../../policy.ts";
import type { Adjustment, AskRun, BucketAddress, TakeBucket, TakeCall } from "../store.ts";

/** Arguments that open every script: the policies of the call, each once. */
export class PolicyTable {
  readonly #numbers = new Map<Policy, number>();
  readonly #args: string[] = [];

  /** The number of a policy in the call, from 1. */
  numberOf(policy: Policy): number {
    let number = this.#numbers.get(policy);
    if (number === undefined) {
      number = this.#numbers.size + 1;
      this.#numbers.set(policy, number);
      this.#args.push(...shapeArgs(policy.shape));
    }
    return number;
  }

  args(): string[] {
    return [String(this.#numbers.size), ...this.#args];
  }
}

const KNOWN_SHAPES = new WeakMap<BucketShape, readonly string[]>();

function shapeArgs(shape: BucketShape): readonly string[] {
  let args = KNOWN_SHAPES.get(shape);
  if (args === undefined) {
    args = encodeShape(shape);
    KNOWN_SHAPES.set(shape, args);
  }
  return args;
}

function encodeShape(shape: BucketShape): readonly string[] {
  switch (shape.kind) {
    case "token-bucket":
      return ["t", shape.unitsPerToken, shape.unitsPerTick, shape.tickUs, shape.burst].map(String);
    case "fixed-window":
      return ["f", shape.limit, shape.periodUs, shape.aligned ? 1 : 0, 0].map(String);
    case "sliding-window-counter":
      return ["c", shape.limit, shape.periodUs, 0, 0].map(String);
    case "sliding-window-log":
      return ["l", shape.limit, shape.periodUs, 0, 0].map(String);
  }
}

/** The arguments of `lua/take.lua`. */
export function encodeTake(call: TakeCall): string[] {
  return encodeShort(call) ?? encodeWhole(call);
}

/**
 * The commonest calls have forms of their own: token buckets of one policy without reports, each with one run, all of one cost.
 * `undefined` for any other call.
 */
function encodeShort({ buckets, runs }: TakeCall): string[] | undefined {
  const first = runs[0];
  const policy = buckets[0]?.policy;
  const cost = first?.charges[0]?.cost;
  if (policy?.shape.kind !== "token-bucket" || first === undefined || runs.length !== buckets.length) return undefined;
  let alike = true;
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i] as TakeBucket;
    const { count, charges } = runs[i] as AskRun;
    const charge = charges[0];
    if (bucket.policy !== policy || bucket.report !== undefined) return undefined;
    if (charges.length !== 1 || charge?.bucket !== i || charge.cost !== cost) return undefined;
    alike &&= count === first.count;
  }
  const numbers = shapeArgs(policy.shape).slice(1);
  if (buckets.length === 1) return ["s", ...numbers, String(first.count), String(cost)];
  const counts = alike ? [String(first.count)] : runs.map(({ count }) => String(count));
  return ["m", ...numbers, String(cost), ...counts];
}

function encodeWhole({ buckets, runs }: TakeCall): string[] {
  const table = new PolicyTable();
  const rest: string[] = [];
  for (const { policy, report } of buckets) {
    const number = table.numberOf(policy);
    if (report === undefined) rest.push(String(number));
    else {
      const { wish, lifeUs, demand, weight, settlements } = report;
      rest.push(
        String(-number),
        String(wish),
        String(lifeUs),
        String(demand),
        String(weight),
        String(settlements.length),
      );
      for (const { id, settled, returned } of settlements) rest.push(String(id), String(settled), String(returned));
    }
  }
  for (const run of runs) encodeRun(run, rest);
  return table.args().concat(rest);
}

function encodeRun({ count, charges }: AskRun, args: string[]): void {
  args.push(String(count), String(charges.length));
  for (const { bucket, cost } of charges) args.push(String(bucket + 1), String(cost));
}

/** The arguments of `lua/peek.lua` and `lua/reset.lua`. */
export function encodeAddresses(addresses: readonly BucketAddress[]): string[] {
  const table = new PolicyTable();
  const numbers = addresses.map(({ policy }) => String(table.numberOf(policy)));
  return table.args().concat(numbers);
}

/** The arguments of `lua/adjust.lua`. */
export function encodeAdjustments(adjustments: readonly Adjustment[]): string[] {
  const table = new PolicyTable();
  const rest = adjustments.flatMap(({ policy, tokens }) => [String(table.numberOf(policy)), String(tokens)]);
  return table.args().concat(rest);
}
