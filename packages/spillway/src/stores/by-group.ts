import type { BucketAddress, Store } from "./store.ts";

/** Sorts buckets by what can travel in one call. */
export function byGroup<A extends BucketAddress>(addresses: readonly A[], store: Store): A[][] {
  const groups = new Map<number, A[]>();
  for (const address of addresses) {
    const group = store.groupOf?.(address.key) ?? 0;
    const together = groups.get(group);
    if (together === undefined) groups.set(group, [address]);
    else together.push(address);
  }
  return [...groups.values()];
}
