import type { RunSetup } from "./lease-setups.ts";
import type { Operation } from "./lease-store.ts";

/** Who took part in a run, and under what. */
export function describeSetup({ buckets, holders, weather, deadlineMs }: RunSetup): string {
  const policies = buckets.map(({ configs }) =>
    configs.map(({ limit, periodMs, capacity }) => `${limit} per ${periodMs} ms, burst ${capacity}`).join(" or "),
  );
  const who = holders.map(
    ({ kind, buckets: of, trouble, rate }) => `${kind} on ${of.join("+")} (clock x ${rate.toFixed(3)}, ${trouble})`,
  );
  return `  buckets: ${policies.join("; ")}\n  holders: ${who.join("; ")}\n  weather: ${JSON.stringify(weather)}, deadline ${deadlineMs} ms`;
}

/** What the store was asked, and what came of it. Ids are told as times since the start of the run. */
export function describeOperation(operation: Operation, startUs: number): string {
  const idOf = (id: number): string => (id === 0 ? "none" : `#${id - startUs}`);
  if (operation.kind === "reset") return "store: reset";
  if (operation.kind === "adjust")
    return `store: ${operation.adjustments.map(({ tokens }) => tokens).join(", ")} tokens moved`;
  const { call, reply } = operation;
  const parts = call.buckets.map(({ policy, report }, i) => {
    const reading = reply.buckets[i];
    const settled = report?.settlements.map(
      (one) => `${one.settled} of ${idOf(one.id)} settled, ${one.returned} returned`,
    );
    const lease = reading?.kind === "state" ? reading.lease : undefined;
    const leased =
      lease && lease.tokens !== 0 ? `${lease.tokens} leased as ${idOf(lease.id)} for ${report?.lifeUs} us` : "";
    return [
      policy.name,
      `${policy.limit} per ${policy.periodMs} ms, burst ${policy.capacity}`,
      ...(settled ?? []),
      leased,
    ];
  });
  const asks = call.runs.map(({ count, charges }, i) => `${reply.served[i]} of ${count} x ${charges[0]?.cost} served`);
  return `store: ${[...parts.map((part) => part.filter(Boolean).join(": ")), ...asks].join("; ")}`;
}
