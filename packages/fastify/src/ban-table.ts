import type { RefusedDecision } from "spillway";
import { invalidOption, requireMembers } from "./option-error.ts";

/** When a caller who does not heed refusals is shut out for a while. Counted in this process alone. */
export interface BanOptions {
  /** The refusal that shuts its caller out, from 1. */
  readonly after: number;
  /** How long refusals are remembered, in ms: the count starts anew this long after its first one. Defaults to 60,000. */
  readonly withinMs?: number;
  /** How long the caller is shut out, in ms. Defaults to 60,000. */
  readonly forMs?: number;
  /** How many callers are remembered; the one whose count is oldest is forgotten first. Defaults to 10,000. */
  readonly maxKeys?: number;
}

interface Offender {
  refusals: number;
  /** When the count, or the ban, is over. */
  untilMs: number;
  /** What a banned caller is told; `undefined` while counting. */
  banned: RefusedDecision | undefined;
}

/** Refusals by key, and who is shut out. Pure: times come in, in ms of one monotonic clock. */
export class BanTable {
  readonly #after: number;
  readonly #withinMs: number;
  readonly #forMs: number;
  readonly #maxKeys: number;
  readonly #offenders = new Map<string, Offender>();

  /** @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`. */
  constructor(options: BanOptions) {
    requireMembers(options, "ban", ["after", "withinMs", "forMs", "maxKeys"]);
    this.#after = requireWhole(options.after, "ban.after");
    this.#withinMs = requireWhole(options.withinMs ?? 60_000, "ban.withinMs");
    this.#forMs = requireWhole(options.forMs ?? 60_000, "ban.forMs");
    this.#maxKeys = requireWhole(options.maxKeys ?? 10_000, "ban.maxKeys");
  }

  get size(): number {
    return this.#offenders.size;
  }

  /** The refusal of a caller who is shut out. */
  find(key: string, nowMs: number): RefusedDecision | undefined {
    const offender = this.#offenders.get(key);
    if (offender?.banned === undefined) return undefined;
    if (nowMs < offender.untilMs) return shutOut(offender.banned, offender.untilMs - nowMs);
    this.#offenders.delete(key);
    return undefined;
  }

  /** Counts a refusal. Gives the refusal to send: that of a ban if this was one too many. */
  note(key: string, decision: RefusedDecision, nowMs: number): RefusedDecision {
    const offender = this.#offenderOf(key, nowMs);
    if (offender.banned !== undefined) return shutOut(offender.banned, offender.untilMs - nowMs);
    offender.refusals++;
    if (offender.refusals < this.#after) return decision;
    offender.banned = decision;
    offender.untilMs = nowMs + this.#forMs;
    return shutOut(decision, this.#forMs);
  }

  #offenderOf(key: string, nowMs: number): Offender {
    const known = this.#offenders.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known;
    const fresh: Offender = { refusals: 0, untilMs: nowMs + this.#withinMs, banned: undefined };
    this.#offenders.delete(key);
    if (this.#offenders.size >= this.#maxKeys) {
      const [oldest] = this.#offenders.keys();
      this.#offenders.delete(oldest as string);
    }
    this.#offenders.set(key, fresh);
    return fresh;
  }
}

/** Every policy that refused then does so as long as the ban lasts. */
function shutOut(decision: RefusedDecision, waitMs: number): RefusedDecision {
  const policies = decision.policies.map((status) =>
    status.retryAfterMs > 0 ? { ...status, remaining: 0, refillAfterMs: waitMs, retryAfterMs: waitMs } : status,
  );
  return { ...decision, policies, reason: "blocked", retryAfterMs: waitMs, remaining: 0, source: "denial-cache" };
}

function requireWhole(value: unknown, option: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw invalidOption(option, "a whole number from 1", value);
  return value as number;
}
