/** How one policy stands, as the fields tell it. Spillway's `PolicyStatus` fits. */
export interface QuotaStatus {
  /** Printable ASCII. */
  readonly policy: string;
  /** Tokens per period. */
  readonly limit: number;
  readonly periodMs: number;
  readonly remaining: number;
  /** Time until more quota appears; 0 when full. */
  readonly refillAfterMs: number;
  /** Time until the policy is as if unused; only `X-RateLimit-Reset` tells it. */
  readonly resetAfterMs?: number;
  /** For a policy that refuses: time until the same request fits; `Infinity` when it never can. Otherwise 0. */
  readonly retryAfterMs: number;
  /** What is counted. Defaults to `"requests"`. */
  readonly unit?: QuotaUnit;
}

/** What a policy may count in the words of the Internet-Draft. For anything else, tokens for one, leave it out. */
export type QuotaUnit = "requests" | "content-bytes" | "concurrent-requests";

/** The part of a status that stays the same from one answer to the next. A limit without a period has `periodMs: Infinity`. */
export type QuotaPolicy = Pick<QuotaStatus, "policy" | "limit" | "periodMs" | "unit">;

const LARGEST_INTEGER = 999_999_999_999_999;
const MOST_POLICY_SETS = 64;

/**
 * The value of `RateLimit-Policy` in Internet-Draft syntax, revisions 08 to 11: `"burst";q=70;w=1`.
 * `w` is the period in whole seconds, rounded up. A period below one second has no such number, so `w` is left out.
 * Returns `""` for no policies: send no field then.
 * @param partitionKey stands for the caller within each policy, as `pk` in both fields: a hash of the key, since proxies and
 * logs see it. Left out by default.
 * @throws TypeError for a name outside printable ASCII.
 */
export function writeRateLimitPolicy(policies: readonly QuotaPolicy[], partitionKey?: string): string {
  const partition = partitionParameter(partitionKey);
  return policies.map((policy) => policyItem(policy) + partition).join(",");
}

/**
 * The value of `RateLimit` in Internet-Draft syntax, revisions 08 to 11: `"burst";r=11;t=1`.
 * `r` is what remains, rounded down. `t` is whole seconds, rounded up, until more quota appears, and for a policy that
 * refuses until the same request fits. Both stay within 0 to 10^15 - 1; `t` is left out where no wait helps.
 * Returns `""` for no policies: send no field then.
 * @param partitionKey as for {@link writeRateLimitPolicy}.
 * @throws TypeError for a name outside printable ASCII.
 */
export function writeRateLimit(statuses: readonly QuotaStatus[], partitionKey?: string): string {
  const partition = partitionParameter(partitionKey);
  return statuses.map((status) => limitItem(limitOpening(status.policy), status) + partition).join(",");
}

/** Both fields for one set of policies. `RateLimit-Policy` and the names are written once. */
export class PolicySetFields {
  /** The value of `RateLimit-Policy`. */
  readonly rateLimitPolicy: string;
  readonly #policies: readonly QuotaPolicy[];
  readonly #openings: readonly string[];
  /** The last field of a single policy, and what it tells. */
  #latest = "";
  #latestLeft = -1;
  #latestSeconds: number | undefined;
  /** How the field of a single policy begins while so many thousands are left. */
  #head = "";
  #thousands = -1;

  constructor(policies: readonly QuotaPolicy[]) {
    this.rateLimitPolicy = writeRateLimitPolicy(policies);
    this.#policies = policies.map(({ policy, limit, periodMs, unit = "requests" }) => ({
      policy,
      limit,
      periodMs,
      unit,
    }));
    this.#openings = policies.map(({ policy }) => limitOpening(policy));
  }

  /** Whether `policies` are this set, in this order. */
  describes(policies: readonly QuotaPolicy[]): boolean {
    const own = this.#policies;
    if (own.length !== policies.length) return false;
    for (let index = 0; index < own.length; index++) {
      const one = own[index] as QuotaPolicy;
      const other = policies[index] as QuotaPolicy;
      if (one.policy !== other.policy || one.limit !== other.limit || one.periodMs !== other.periodMs) return false;
      if (one.unit !== (other.unit ?? "requests")) return false;
    }
    return true;
  }

  /** The value of `RateLimit`. Precondition: `describes(statuses)`. */
  rateLimit(statuses: readonly QuotaStatus[]): string {
    if (statuses.length === 1) return this.#onlyItem(statuses[0] as QuotaStatus);
    let field = "";
    for (let index = 0; index < statuses.length; index++) {
      const item = limitItem(this.#openings[index] as string, statuses[index] as QuotaStatus);
      field = index === 0 ? item : `${field},${item}`;
    }
    return field;
  }

  /** Refusals within a second tell the same; admissions one after another differ in the last digits. */
  #onlyItem(status: QuotaStatus): string {
    const left = integer(status.remaining);
    const seconds = waitSeconds(status);
    if (left === this.#latestLeft && seconds === this.#latestSeconds) return this.#latest;
    this.#latestLeft = left;
    this.#latestSeconds = seconds;
    const thousands = Math.floor(left / 1000);
    if (thousands !== this.#thousands) {
      this.#thousands = thousands;
      this.#head = [this.#openings[0], thousands === 0 ? "" : thousands].join("");
    }
    const digits = thousands === 0 ? String(left) : LAST_DIGITS[left - thousands * 1000];
    // One text in one piece: what `+` makes is put together only when it is checked and sent, which costs more.
    this.#latest = [this.#head, digits, waitParameter(seconds)].join("");
    return this.#latest;
  }
}

/** Writes both fields and remembers the last 64 sets of policies, so that an answer costs one short string. */
export class RateLimitWriter {
  readonly #known: PolicySetFields[] = [];
  #latest: PolicySetFields | undefined;

  /** @throws TypeError for a policy name outside printable ASCII. */
  fieldsOf(policies: readonly QuotaPolicy[]): PolicySetFields {
    const latest = this.#latest;
    if (latest?.describes(policies)) return latest;
    const found = this.#known.find((fields) => fields.describes(policies)) ?? this.#remember(policies);
    this.#latest = found;
    return found;
  }

  #remember(policies: readonly QuotaPolicy[]): PolicySetFields {
    const fields = new PolicySetFields(policies);
    if (this.#known.length === MOST_POLICY_SETS) this.#known.shift();
    this.#known.push(fields);
    return fields;
  }
}

function policyItem({ policy, limit, periodMs, unit = "requests" }: QuotaPolicy): string {
  const item = `${quoted(policy)};q=${integer(limit)}`;
  const isPeriod = periodMs >= 1000 && periodMs < Number.POSITIVE_INFINITY;
  const window = isPeriod ? `${item};w=${wholeSeconds(periodMs)}` : item;
  return unit === "requests" ? window : `${window};qu=${quoted(unit)}`;
}

function partitionParameter(partitionKey: string | undefined): string {
  return partitionKey === undefined ? "" : `;pk=:${Buffer.from(partitionKey).toString("base64")}:`;
}

function limitOpening(policy: string): string {
  return `${quoted(policy)};r=`;
}

function limitItem(opening: string, status: QuotaStatus): string {
  return opening + parameters(integer(status.remaining), waitSeconds(status));
}

/** What `t` tells; `undefined` where no wait helps. */
function waitSeconds({ refillAfterMs, retryAfterMs }: QuotaStatus): number | undefined {
  const waitMs = retryAfterMs > 0 && retryAfterMs < Number.POSITIVE_INFINITY ? retryAfterMs : refillAfterMs;
  return waitMs < Number.POSITIVE_INFINITY ? wholeSeconds(waitMs) : undefined;
}

/** Those of the waits that are told most, from 0 seconds. */
const WAIT_PARAMETERS = Array.from({ length: 64 }, (_, seconds) => `;t=${seconds}`);
/** The last three digits of a larger number. */
const LAST_DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, "0"));

/** What stands behind the opening. */
function parameters(left: number, seconds: number | undefined): string {
  return left + waitParameter(seconds);
}

function waitParameter(seconds: number | undefined): string {
  return seconds === undefined ? "" : (WAIT_PARAMETERS[seconds] ?? `;t=${seconds}`);
}

function wholeSeconds(ms: number): number {
  return integer(Math.ceil(ms / 1000));
}

/** Within the range of a Structured Field Integer; what is no number counts as 0. */
function integer(value: number): number {
  if (!(value > 0)) return 0;
  return value < LARGEST_INTEGER ? Math.floor(value) : LARGEST_INTEGER;
}

function quoted(name: string): string {
  if (!/^[\x20-\x7e]*$/.test(name))
    throw new TypeError(`A policy's name and unit must be printable ASCII, got ${JSON.stringify(name)}.`);
  return `"${name.replace(/["\\]/g, "\\$&")}"`;
}
