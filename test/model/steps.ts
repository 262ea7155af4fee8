import type fc from "fast-check";
import type { BucketAddress, TakeBucket, TakeCall } from "../../packages/spillway/src/stores/store.ts";
import type { StepPlan, TakePlan } from "./plans.ts";
import { packStored } from "./stored-value.ts";
import type { World } from "./world.ts";

/** What nobody may take for a bucket. */
export const GARBAGE: readonly (Buffer | "list")[] = [
  "list",
  Buffer.from(""),
  Buffer.from("5"),
  Buffer.from([1]),
  Buffer.alloc(33, 0xff),
  Buffer.alloc(89, 0xff),
  Buffer.alloc(17, 0xff),
  Buffer.alloc(25, 0xff),
  Buffer.alloc(37, 0xff),
  Buffer.alloc(37, 5),
  Buffer.from("x".repeat(33)),
  packStored({ form: 4, numbers: [1, 2, 3, 4] }),
  packStored({ form: 4, numbers: [1, -1, 0] }),
  packStored({ form: 4, numbers: [1, 0, Number.NaN] }),
  packStored({ form: 4, numbers: [Number.POSITIVE_INFINITY, 0, 0] }),
  packStored({ form: 5, numbers: [0, 1, 10] }),
  packStored({ form: 5, numbers: [1000, Number.NaN, 10] }),
  packStored({ form: 5, numbers: [1e300, 1, 10, 5, 1] }),
  packStored({ form: 5, numbers: [1000, 1, 10, 5, 1] }).subarray(0, 44),
  packStored({ form: 5, numbers: [1000, 1, 10, 5, 1] }).fill(9, 37, 38),
  packStored({ form: 1, numbers: [1, 2, 3] }),
  packStored({ form: 3, numbers: [1, 2, 3] }),
  packStored({ form: 1, numbers: [Number.NaN, 1, 1, 1] }),
  packStored({ form: 1, numbers: [1, Number.POSITIVE_INFINITY, 1, 1] }),
  packStored({ form: 1, numbers: [1, 1, 0, 1] }),
  packStored({ form: 3, numbers: [1, Number.NaN] }),
  packStored({ form: 3, numbers: [1, -1] }),
  packStored({ form: 9, numbers: [1, 2] }),
  packStored({ form: 9, numbers: [Number.NaN, 1e15, 3, 1, 1] }),
  packStored({ form: 9, numbers: [1e15, Number.POSITIVE_INFINITY, 3, 1, 1] }),
  packStored({ form: 9, numbers: [1e15, 8e15, 3, 1, -1] }),
  Buffer.concat([packStored({ form: 9, numbers: [1e15, 8e15] }), Buffer.from("x")]),
];

/** A step of a run: does what is planned and holds the answer against the model. Shows itself as what it came to. */
export class Step implements fc.AsyncCommand<World, World> {
  readonly #plan: StepPlan;
  readonly #onStep: () => void;
  #shown = "(not run)";

  constructor(plan: StepPlan, onStep: () => void) {
    this.#plan = plan;
    this.#onStep = onStep;
  }

  check(): boolean {
    return true;
  }

  async run(world: World): Promise<void> {
    this.#onStep();
    const plan = this.#plan;
    switch (plan.does) {
      case "take":
        await this.#take(world, plan.plan);
        break;
      case "peek": {
        const addresses = distinct(world, plan.buckets);
        this.#show(await this.#pass(world, plan.gap, addresses), `peek ${addresses.map(named).join(", ")}`);
        await world.peek(addresses);
        break;
      }
      case "adjust": {
        const address = world.addressOf(plan.bucket);
        const gapUs = await this.#pass(world, plan.gap, [address]);
        const tokens = (plan.give ? 1 : -1) * world.costOf(plan.by, address);
        this.#show(gapUs, `adjust ${named(address)} by ${tokens}`);
        await world.adjust(address, tokens);
        break;
      }
      case "block": {
        const address = world.addressOf(plan.bucket);
        this.#show(await this.#pass(world, plan.gap, [address]), `block ${named(address)} for ${plan.us} us`);
        await world.block(address, plan.us);
        break;
      }
      case "reset": {
        const address = world.addressOf(plan.bucket);
        this.#show(await this.#pass(world, plan.gap, [address]), `reset ${named(address)}`);
        await world.reset(address);
        break;
      }
      case "spoil": {
        const address = world.addressOf(plan.bucket);
        const bytes = GARBAGE[plan.garbage % GARBAGE.length] as Buffer | "list";
        this.#show(0, `spoil ${named(address)} with ${bytes === "list" ? bytes : bytes.toString("hex")}`);
        if (world.driver.spoil === undefined) return;
        await world.driver.spoil(address, bytes);
        world.model.spoil(address);
        break;
      }
    }
    await world.compareStored();
  }

  toString(): string {
    return `\n    ${this.#shown}`;
  }

  async #take(world: World, { gap, alike, buckets, runs }: TakePlan): Promise<void> {
    const addresses = distinct(
      world,
      buckets.map(({ bucket }) => bucket),
    );
    const gapUs = await this.#pass(world, gap, addresses);
    const reports = new Map(buckets.map(({ bucket, report }) => [world.model.keyOf(world.addressOf(bucket)), report]));
    const first = addresses[0] as BucketAddress;
    const firstReport = reports.get(world.model.keyOf(first));
    const taken: TakeBucket[] = addresses.map((address) => {
      const own = reports.get(world.model.keyOf(address));
      if (own === undefined) return { ...address, report: undefined };
      const report = alike && firstReport ? { ...firstReport, wish: own.wish, settlements: own.settlements } : own;
      return { ...address, report: world.reportOf(report, address, alike ? first : address) };
    });
    const call: TakeCall = {
      buckets: taken,
      runs: runs.map(({ count, costs }) => ({
        count,
        charges: addresses.flatMap((address, bucket) => {
          const cost = costs[bucket];
          return cost === undefined ? [] : [{ bucket, cost: world.costOf(cost, alike ? first : address) }];
        }),
      })),
    };
    this.#show(gapUs, describeTake(call));
    const { served } = await world.take(call);
    this.#show(gapUs, `${describeTake(call)} -> served ${served.join(", ") || "nothing asked"}`);
  }

  #pass(world: World, gap: Parameters<World["pass"]>[0], addresses: readonly BucketAddress[]): Promise<number> {
    return world.pass(gap, addresses[0] as BucketAddress);
  }

  #show(gapUs: number, text: string): void {
    this.#shown = `${gapUs < 0 ? "" : "+"}${gapUs} us: ${text}`;
  }
}

/** Buckets of a plan, each once: a bucket may be in a call under one of its policies only. */
function distinct(world: World, plans: readonly Parameters<World["addressOf"]>[0][]): BucketAddress[] {
  const byKey = new Map<string, BucketAddress>();
  for (const plan of plans) {
    const address = world.addressOf(plan);
    const key = world.model.keyOf(address);
    if (!byKey.has(key)) byKey.set(key, address);
  }
  return [...byKey.values()];
}

function named({ key, policy }: BucketAddress): string {
  const { shape, name } = policy;
  let kind: string = shape.kind;
  if (shape.kind === "token-bucket") kind = `burst ${shape.burst}`;
  else if (shape.kind === "fixed-window") kind = shape.aligned ? "aligned" : "from first";
  return `${key}/${name}(${policy.limit} per ${policy.periodMs} ms, ${kind})`;
}

function describeTake({ buckets, runs }: TakeCall): string {
  const places = buckets.map(({ report, ...address }, index) => {
    const told = report === undefined ? "" : ` report ${JSON.stringify(report)}`;
    return `#${index} ${named(address)}${told}`;
  });
  const asks = runs.map(({ count, charges }) => {
    const costs = charges.map(({ bucket, cost }) => `${cost} of #${bucket}`).join(" and ");
    return `${count} x ${costs || "nothing"}`;
  });
  return `take from ${places.join(", ")}: ${asks.join("; ") || "no asks"}`;
}
