import { createHash } from "node:crypto";
import type { Policy } from "../../policy.ts";
import type { BucketAddress } from "../store.ts";

/** Version of the stored values; another one means other keys, so that no script meets a form it does not know. */
const FORMAT = "v1";
/** Longer keys are hashed, so that a store key stays short. In UTF-16 code units of the escaped text. */
const LONGEST_PLAIN = 200;
/** Braces would move the hash tag, `%` is the escape; a lone surrogate has no UTF-8 form and would meet other keys there. */
const UNSAFE = /[%{}]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
/** Looks for any of them in half the time, and most keys have none. */
const MAYBE_UNSAFE = /[%{}\uD800-\uDFFF]/;

/** The store key of a bucket: `prefix:v1:{key}:policy:algorithm`. All policies of one key share a cluster slot. */
export function bucketKey(prefix: string, { key, policy }: BucketAddress): string {
  return bucketKeys(prefix, [{ key, policy }])[0] as string;
}

/** The store keys of buckets; what they share is put together once, since they are mostly of one policy. */
export function bucketKeys(prefix: string, addresses: readonly BucketAddress[]): string[] {
  const head = `${prefix}:${FORMAT}:{`;
  let policy: Policy | undefined;
  let tail = "";
  return addresses.map((address) => {
    if (address.policy !== policy) {
      policy = address.policy;
      tail = `}:${policy.name}:${policy.algorithm}`;
    }
    return head + keyTag(address.key) + tail;
  });
}

/** The store key of the ledger of shares under a prefix; apart from the buckets, whose keys all open with `prefix:`. */
export function sharesKey(prefix: string): string {
  return `${prefix}-shares:${FORMAT}`;
}

/** The user's key as a hash tag: the same for equal keys only, never empty (that would be no tag), free of braces. */
export function keyTag(key: string): string {
  if (key === "") return "%e";
  const escaped = MAYBE_UNSAFE.test(key) ? key.replace(UNSAFE, escaped4) : key;
  if (escaped.length <= LONGEST_PLAIN) return escaped;
  return `%h${createHash("sha256").update(escaped).digest("base64url")}`;
}

/** `%` and four hexadecimal digits, which `%h` of a hash cannot be. */
function escaped4(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
