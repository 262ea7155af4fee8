import assert from "node:assert/strict";
import { beforeAll, describe, expect, it } from "vitest";
import { bucketKey } from "../../packages/spillway/src/stores/redis/key-layout.ts";
import type { BucketAddress, PeekReply, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import { ownRedis } from "../support/redis-fixture.ts";
import { FIRST_SEED, positive, runOnce } from "./lease-run.ts";
import type { SetupOptions } from "./lease-setups.ts";
import type { LeaseStore, Operation } from "./lease-store.ts";
import { told } from "./model-store.ts";
import { type StoredValue, storedValueOf } from "./stored-value.ts";
import { type RedisRecord, TimedRedisStore } from "./timed-redis.ts";

/** Operations on the real scripts; `SPILLWAY_LEASE_REDIS_STEPS=100000` is the full measure. */
const STEPS = positive("SPILLWAY_LEASE_REDIS_STEPS", 10_000);

const redis = ownRedis();
let openStore: (prefix: string, nowUs: number) => TimedRedisStore;
beforeAll(async () => {
  openStore = await TimedRedisStore.load(redis.client);
});

interface Recorded {
  readonly operation: Operation;
  /** What every bucket of the operation holds after it, and the life that it was given. */
  readonly stored: readonly {
    readonly address: BucketAddress;
    readonly stored: StoredValue;
    readonly lifeMs: number;
  }[];
}

/** Remembers an operation as it was: who gets the reply may change what is in it. */
function recorded(operation: Operation, store: LeaseStore): Recorded {
  const stored = addressesOf(operation).map((address) => {
    const record = store.record(address);
    if (record === undefined) throw new Error("An operation that wrote nothing.");
    return { address, stored: storedValueOf(record.state), lifeMs: record.lifeMs };
  });
  const copy: Operation = structuredClone(operation);
  return { operation: copy, stored };
}

function addressesOf(operation: Operation): readonly BucketAddress[] {
  if (operation.kind === "take") return operation.call.buckets;
  return operation.kind === "adjust" ? operation.adjustments : operation.addresses;
}

/** Sends all operations of a run in one pipeline, each followed by a look at what is stored, and compares afterwards. */
async function replay(prefix: string, seed: number, run: readonly Recorded[]): Promise<void> {
  const store = openStore(prefix, 0);
  const answers = run.map(({ operation, stored }) => {
    store.nowUs = operation.nowUs;
    const reply = send(store, operation);
    const keys = stored.map(({ address }) => bucketKey(store.prefix, address));
    return Promise.all([reply, store.records(keys), keys] as const);
  });
  for (const [index, answer] of answers.entries()) compare(seed, index, run[index] as Recorded, await answer);
}

function send(store: TimedRedisStore, operation: Operation): Promise<TakeReply | PeekReply | undefined> {
  if (operation.kind === "take") return store.take(operation.call);
  if (operation.kind === "adjust") return store.adjust(operation.adjustments);
  return store.reset(operation.addresses).then(() => undefined);
}

function compare(
  seed: number,
  index: number,
  { operation, stored }: Recorded,
  [reply, records, keys]: readonly [TakeReply | PeekReply | undefined, Map<string, RedisRecord>, readonly string[]],
): void {
  const where = `operation ${index} of run ${seed}, ${JSON.stringify(operation)}`;
  for (const [i, { stored: value, lifeMs }] of stored.entries())
    assert.deepEqual(records.get(keys[i] as string), { stored: value, lifeMs }, `what is stored after ${where}`);
  if (operation.kind === "reset" || reply === undefined) return;
  assert.deepEqual(plain(reply), plain(operation.reply), `the reply to ${where}`);
}

function plain(reply: TakeReply | PeekReply): unknown {
  return {
    nowUs: reply.nowUs,
    buckets: reply.buckets.map((reading) => told(reading)),
    served: "served" in reply ? reply.served : undefined,
  };
}

describe("the scripts do what the model does in the hands of lease holders", () => {
  it.each<[string, Pick<SetupOptions, "algorithms" | "flapping" | "periods">]>([
    ["of token buckets", {}],
    ["of windows", { algorithms: ["fixed-window", "sliding-window-counter"] }],
    [
      "of windows and token buckets whose period and limit alternate",
      { algorithms: ["fixed-window", "sliding-window-counter", "token-bucket"], flapping: true, periods: true },
    ],
    ["of windows beside token buckets", { algorithms: ["fixed-window", "sliding-window-counter", "token-bucket"] }],
  ])("%s: reply for reply, and number for number in what is stored", { timeout: 1_800_000 }, async (name, kinds) => {
    const started = performance.now();
    let steps = 0;
    let leased = 0;
    for (let seed = FIRST_SEED; steps < STEPS; seed++) {
      const run: Recorded[] = [];
      const failure = await runOnce(seed, {
        setups: { without: ["lose"], ...kinds },
        onOperation: (operation, store) => run.push(recorded(operation, store)),
      });
      expect(failure?.story).toBeUndefined();
      await replay(`${name}-${seed}`, seed, run);
      steps += run.length;
      leased += run.filter(({ operation }) => grants(operation)).length;
    }
    expect(leased).toBeGreaterThan(steps / 50);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(
      `leases: scripts ${name}: ${steps} operations agree, ${leased} of them leased, seeds from ${FIRST_SEED}, ${seconds} s\n`,
    );
  });
});

function grants(operation: Operation): boolean {
  if (operation.kind !== "take") return false;
  return operation.reply.buckets.some((reading) => reading.kind === "state" && (reading.lease?.tokens ?? 0) > 0);
}
