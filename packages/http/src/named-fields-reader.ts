import { joinUnnamed, readSeparate } from "./draft-fields-reader.ts";
import { completed, type QuotaFields, type QuotaReading } from "./quota-reading.ts";

/** `x-ratelimit-remaining-tokens`: the figure first, then the name of the quota. */
const FIGURE_FIRST = /^(x-ratelimit|x-rate-limit)-(limit|remaining|reset)-(.+)$/;
/** `anthropic-ratelimit-tokens-remaining`, `anthropic-priority-input-tokens-reset`: the figure last. */
const FIGURE_LAST = /^anthropic-(?:ratelimit-(?=.)|(?=(?:priority|fast)-.))(.+)-(limit|remaining|reset)$/;

/**
 * Reads limits that carry the name of a quota in the name of the field, as OpenAI, Anthropic and Kong send them. Each name
 * gives one reading, in the order of the fields.
 */
export function readNamedFields(lines: ReadonlyMap<string, string>, serverNowMs: number): readonly QuotaReading[] {
  const quotas = new Map<string, { from: QuotaFields; policy: string; figures: Map<string, string> }>();
  for (const [name, value] of lines) {
    const found = quotaOf(name);
    if (found === undefined) continue;
    const [from, policy, figure] = found;
    const key = `${from} ${policy}`;
    const quota = quotas.get(key) ?? { from, policy, figures: new Map() };
    quotas.set(key, quota);
    quota.figures.set(`quota-${figure}`, value);
  }
  return [...quotas.values()]
    .map(({ from, policy, figures }) => {
      const state = readSeparate(figures, "quota", serverNowMs)?.state;
      return state && completed(from, { policy, ...state });
    })
    .filter((reading) => reading !== undefined);
}

function quotaOf(name: string): readonly [QuotaFields, string, string] | undefined {
  const [, family, first, named] = FIGURE_FIRST.exec(name) ?? [];
  // `reset-after` is Discord's wait in seconds, not a quota of that name.
  if (named !== undefined) return named === "after" ? undefined : [family as QuotaFields, named, first as string];
  const [, quota, last] = name.startsWith("anthropic-") ? (FIGURE_LAST.exec(name) ?? []) : [];
  return quota === undefined ? undefined : ["anthropic", quota, last as string];
}

/**
 * Reads `X-RateLimit-Limit`, `-Remaining`, `-Reset`, and the same with `X-Rate-Limit-`. GitHub's `X-RateLimit-Resource` is
 * the name; Discord's `X-RateLimit-Reset-After` counts before `-Reset`, and `-Retry-After` where there is neither.
 */
export function readLegacyFields(lines: ReadonlyMap<string, string>, serverNowMs: number): readonly QuotaReading[] {
  return (["x-ratelimit", "x-rate-limit"] as const).flatMap((prefix) => {
    const reset = ["reset-after", "reset", "retry-after"].map((figure) => lines.get(`${prefix}-${figure}`));
    const first = reset.find((value) => value !== undefined);
    const fields = first === undefined ? lines : new Map([...lines, [`${prefix}-reset`, first] as const]);
    const separate = readSeparate(fields, prefix, serverNowMs);
    if (separate === undefined) return [];
    return joinUnnamed(separate.policies, { policy: lines.get(`${prefix}-resource`), ...separate.state }, prefix);
  });
}
