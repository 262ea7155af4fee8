import type { BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { TokenBucketShape, TokenBucketState } from "../../packages/spillway/src/algorithms/token-bucket.ts";
import type { BucketAddress } from "../../packages/spillway/src/stores/store.ts";
import { Broken } from "./broken.ts";

/** What a bucket may hold after any write. @param flaps whether it changes between policies. */
export function requireSound({ policy: { shape } }: BucketAddress, state: BucketState, flaps: boolean): void {
  if (state.kind === "token-bucket") requireSoundBucket(shape as TokenBucketShape, state, flaps);
  if (state.kind !== "fixed-window" && state.kind !== "sliding-window-counter") return;
  const used = state.kind === "fixed-window" ? state.used : state.current;
  const out = state.lease?.tokens ?? 0;
  if (out > used || out < 0 || state.lease?.tokens === 0) throw new Broken(`${out} of ${used} on lease`);
  if (![used, out].every(Number.isSafeInteger)) throw new Broken("a part of a token");
}

function requireSoundBucket(shape: TokenBucketShape, state: TokenBucketState, flaps: boolean): void {
  const { level, older, newer } = state;
  const out = older.tokens + newer.tokens;
  const room = Math.max(0, shape.burst - out) * shape.unitsPerToken;
  if (level > room) throw new Broken(`level ${level} and ${out} on lease are more than the burst ${shape.burst}`);
  if (older.tokens < 0 || newer.tokens < 0) throw new Broken(`an escrow of ${older.tokens} and ${newer.tokens}`);
  if (![level, older.tokens, newer.tokens].every(Number.isSafeInteger)) throw new Broken("a part of a unit");
  if (!flaps && out > shape.burst) throw new Broken(`${out} of ${shape.burst} on lease`);
  if (older.tokens > 0 && newer.tokens > 0 && older.deathUs > newer.deathUs) throw new Broken("deaths out of order");
}
