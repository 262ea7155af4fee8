import { completed, type Draft, type QuotaReading, quantity } from "./quota-reading.ts";
import { readReset } from "./reset-time.ts";
import { type BareValue, type FieldItem, parseItemDictionary, parseItemList } from "./structured-field.ts";
import { waitOf } from "./wait-time.ts";

/**
 * Reads the fields of `draft-ietf-httpapi-ratelimit-headers` in every form that a revision gave them:
 * - 00 to 06: `RateLimit-Limit`, `-Remaining`, `-Reset`; the quota policies as a list in the first, or in `RateLimit-Policy`;
 * - 07: the same in one dictionary, `RateLimit: limit=100, remaining=50, reset=5`;
 * - 08 to 11: lists of named items, `"burst";r=11;t=1`, the name as a string or a token;
 * - what is proposed for later: `a` for `r`, `w` for `t`, and `c`, the cost of the request.
 * A field that is not well-formed is ignored as a whole, a parameter of a wrong type alone.
 */
export function readDraftFields(lines: ReadonlyMap<string, string>, serverNowMs: number): readonly QuotaReading[] {
  const policies = parseItemList(lines.get("ratelimit-policy") ?? "") ?? [];
  const field = lines.get("ratelimit") ?? "";
  const items = (parseItemList(field) ?? []).filter(({ value }) => typeof value === "string");
  const named = joinNamed(policies.filter(({ value }) => typeof value === "string").map(namedPolicy), items);
  const unnamed = policies.map(unnamedPolicy).filter((policy) => policy !== undefined);
  const combined = items.length > 0 ? undefined : readDictionary(field, serverNowMs);
  if (combined !== undefined) return [...named, ...joinUnnamed(unnamed, combined, "ratelimit")];
  const separate = items.length > 0 ? undefined : readSeparate(lines, "ratelimit", serverNowMs);
  if (separate === undefined) return [...named, ...finish(unnamed, "ratelimit")];
  return [...named, ...joinUnnamed([...separate.policies, ...unnamed], separate.state, "ratelimit-reset")];
}

/** Three fields that belong together, and the quota policies that may stand in the first. */
export interface SeparateFields {
  readonly state: Draft;
  readonly policies: readonly Draft[];
}

/**
 * Reads `<prefix>-limit`, `-remaining` and `-reset`: with quota policies behind the limit, `10, 10;w=1, 50;w=60`, and
 * with the window behind the limit itself, `100;w=60`. `undefined` when none of the three can be read.
 */
export function readSeparate(
  lines: ReadonlyMap<string, string>,
  prefix: string,
  serverNowMs: number,
): SeparateFields | undefined {
  const limits = parseItemList(lines.get(`${prefix}-limit`) ?? "") ?? [];
  // Further numbers without a window are no quota policies: the field was sent twice, or is no list at all.
  const [first, ...more] = limits.slice(1).every((item) => windowOf(item) !== undefined) ? limits : [];
  const remaining = parseItemList(lines.get(`${prefix}-remaining`) ?? "") ?? [];
  const state: Draft = {
    ...(first === undefined ? {} : { limit: quantity(first.value), periodMs: windowOf(first) }),
    remaining: remaining.length === 1 ? quantity(remaining[0]?.value) : undefined,
    resetAfterMs: readReset(lines.get(`${prefix}-reset`) ?? "", serverNowMs),
  };
  if (completed("ratelimit-reset", state) === undefined) return undefined;
  return { state, policies: more.map(unnamedPolicy).filter((policy) => policy !== undefined) };
}

/**
 * Puts a limit and its quota policies together. The policy in force is not named, so it is the one with the same limit if
 * just one has it, or the only one there is when no limit is given.
 */
export function joinUnnamed(
  policies: readonly Draft[],
  state: Draft,
  from: QuotaReading["from"],
): readonly QuotaReading[] {
  const alike = policies.filter(({ limit }) => limit === state.limit || state.limit === undefined);
  const inForce = alike.length === 1 ? alike[0] : undefined;
  const others = policies.filter((policy) => policy !== inForce);
  return finish([{ ...inForce, ...withoutGaps(state) }, ...others], from);
}

function finish(drafts: readonly Draft[], from: QuotaReading["from"]): readonly QuotaReading[] {
  return drafts.map((draft) => completed(from, draft)).filter((reading) => reading !== undefined);
}

function withoutGaps(draft: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
}

/** `limit=100, remaining=50, reset=5`; `undefined` for anything that tells none of them. */
function readDictionary(field: string, serverNowMs: number): Draft | undefined {
  const members = parseItemDictionary(field);
  const reset = members?.get("reset")?.value;
  const draft: Draft = {
    limit: quantity(members?.get("limit")?.value),
    remaining: quantity(members?.get("remaining")?.value),
    resetAfterMs: typeof reset === "number" ? readReset(String(reset), serverNowMs) : undefined,
  };
  return completed("ratelimit", draft) === undefined ? undefined : draft;
}

/** `"burst";q=70;w=1` */
function namedPolicy(item: FieldItem): Draft {
  const { value, parameters } = item;
  return {
    policy: value as string,
    limit: quantity(parameters.get("q")),
    periodMs: windowOf(item),
    unit: text(parameters.get("qu")),
    partitionKey: base64(parameters.get("pk")),
  };
}

/** `100;w=60` */
function unnamedPolicy(item: FieldItem): Draft | undefined {
  const limit = quantity(item.value);
  if (limit === undefined) return undefined;
  return { limit, periodMs: windowOf(item), policy: text(item.parameters.get("name")) };
}

/** Puts `"burst";r=11;t=1` to its policy: the one of the same name and partition, or of that name and no partition. */
function joinNamed(policies: readonly Draft[], items: readonly FieldItem[]): readonly QuotaReading[] {
  const found = new Map(policies.map((policy) => [identity(policy), policy]));
  const told = new Set<string>();
  const states = items.map(({ value, parameters }) => {
    const [policy, partitionKey] = [value as string, base64(parameters.get("pk"))];
    const own = [{ policy, partitionKey }, { policy }].map(identity).find((one) => found.has(one)) ?? "";
    told.add(own);
    const after = parameters.get("t") ?? parameters.get("w");
    return {
      policy,
      ...found.get(own),
      remaining: quantity(parameters.get("a") ?? parameters.get("r")),
      resetAfterMs: typeof after === "number" && after >= 0 ? waitOf(after * 1000) : undefined,
      ...(partitionKey === undefined ? {} : { partitionKey }),
      cost: quantity(parameters.get("c")),
    };
  });
  return finish([...states, ...policies.filter((policy) => !told.has(identity(policy)))], "ratelimit");
}

function identity({ policy, partitionKey }: Draft): string {
  return JSON.stringify([policy, partitionKey]);
}

/** The window in ms: `w`, or `window` as the first revisions had it. A window of 0 is none. */
function windowOf({ parameters }: FieldItem): number | undefined {
  const seconds = parameters.get("w") ?? parameters.get("window");
  return typeof seconds === "number" && seconds > 0 ? waitOf(seconds * 1000) : undefined;
}

function text(value: BareValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function base64(value: BareValue | undefined): string | undefined {
  return typeof value === "object" && value !== null ? value.base64 : undefined;
}
