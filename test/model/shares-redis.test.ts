import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { decodeAllotment } from "../../packages/spillway/src/stores/redis/reply-decoding.ts";
import { allotShares } from "../../packages/spillway/src/stores/redis/scripts/generated.ts";
import { encodeBeat } from "../../packages/spillway/src/stores/redis/take-encoding.ts";
import { ShareLedger, WHOLE } from "../../packages/spillway/src/stores/share-ledger.ts";
import type { Allotment, Beat } from "../../packages/spillway/src/stores/store.ts";
import { ownRedis } from "../support/redis-fixture.ts";

/** Goes in front of the shipped script, whose own text stays as it is: the last argument is the time that it reads. */
const PRELUDE = `
local test_now_us = table.remove(ARGV)
local test_server = redis
local redis = {
  call = function(name, ...)
    if name == 'TIME' then return { string.sub(test_now_us, 1, -7), string.sub(test_now_us, -6) } end
    return test_server.call(name, ...)
  end,
}
`;
/** Longer than any story. */
const LIFE_MS = 3_600_000;
const START_MS = 1_791_187_200_123;
const IDS = ["a", "b", "c", "d", "e"] as const;

interface Step {
  readonly id: (typeof IDS)[number];
  readonly passMs: number;
  readonly lifeMs: number;
  readonly demand: number;
  readonly replicas: number;
  readonly leaves: boolean;
  /** Whether the answer arrives. */
  readonly isHeard: boolean;
  /** How far behind the last one the beat's number is; -1 for a new beat. */
  readonly behind: number;
  /** What it says that it uses, where that is not what it was offered. */
  readonly claim: number | undefined;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  id: fc.constantFrom(...IDS),
  passMs: fc.oneof(fc.nat(500), fc.constant(0), fc.integer({ min: -2000, max: LIFE_MS })),
  lifeMs: fc.constantFrom(LIFE_MS, 30_000),
  demand: fc.oneof(fc.nat(1000), fc.nat(1e12)),
  replicas: fc.constantFrom(1, 1, 3, 7),
  leaves: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isHeard: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
  behind: fc.constantFrom(-1, -1, -1, -1, 0, 1),
  claim: fc.option(fc.nat(WHOLE), { nil: undefined, freq: 6 }),
});

const redis = ownRedis();
let sha1: string;
beforeAll(async () => {
  sha1 = String(await redis.client.script("LOAD", PRELUDE + allotShares.text));
});

let stories = 0;

/** Plays a story on the script and on the model; both must say the same at every step. */
async function play(steps: readonly Step[]): Promise<void> {
  const key = `ledger:${++stories}`;
  const ledger = new ShareLedger();
  const known = new Map<string, { number: number; share: number; even: number }>();
  let nowMs = START_MS;
  for (const { id, passMs, behind, isHeard, claim, ...rest } of steps) {
    nowMs += passMs;
    const own = known.get(id) ?? { number: 1, share: 0, even: 0 };
    const number = Math.max(1, own.number - 1 - behind);
    const beat: Beat = { id, number, share: claim ?? own.share, even: claim ?? own.even, ...rest };
    const args = [...encodeBeat(beat), String(nowMs * 1000 + 999)];
    const told: Allotment = decodeAllotment(await redis.client.evalsha(sha1, 1, key, ...args));
    expect(told, `${JSON.stringify(beat)} at ${nowMs}`).toEqual(ledger.allot(beat, nowMs));
    const heard = isHeard ? told : own;
    known.set(id, { number: Math.max(own.number, number + 1), share: heard.share, even: heard.even });
  }
}

it("the script that allots shares equals its model in every number", { timeout: 120_000 }, async () => {
  await fc.assert(fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 60 }), play), { numRuns: 150 });
});
