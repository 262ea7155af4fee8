import type { ClientCounters } from "./client-counters.ts";
import type { Origin } from "./origin.ts";
import type { Outcome, StopReason } from "./outcome.ts";

/** One figure for a metrics system, with what it needs to know of it. */
export interface Metric {
  readonly name: string;
  /** A counter only grows. */
  readonly kind: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

/** What a client knows of one origin. */
export interface OriginStats {
  readonly origin: string;
  readonly inFlight: number;
  /** Retries that could be paid for now; `undefined` without a budget. */
  readonly budgetLeft: number | undefined;
  /** The share of attempts that are refused here, from 0 to 1. */
  readonly throttled: number;
  readonly breaker: "closed" | "open" | "half-open" | undefined;
  /** How long its calls take that do well; `undefined` before there are a few. */
  readonly medianMs: number | undefined;
}

/** Counters of one client since it was made, and how things stand. */
export interface ClientStats {
  readonly calls: number;
  /** Requests sent. */
  readonly attempts: number;
  /** Retries decided. Some were not sent: the caller went away, or a gate had closed. */
  readonly retries: number;
  readonly outcomes: Readonly<Record<Outcome["kind"], number>>;
  /** Calls that their callers ended. */
  readonly aborted: number;
  /** Calls by why they were not tried again. */
  readonly stopped: Readonly<Record<StopReason, number>>;
  /** Time that calls have waited, by what for. */
  readonly waitedMs: Readonly<Record<"backoff" | "retry-after" | "pause", number>>;
  /** Calls held back now by a pause or by pacing. */
  readonly waiting: number;
  readonly inFlight: number;
  readonly origins: readonly OriginStats[];
  /** The same for a metrics system. No label comes from a URL. */
  readonly metrics: readonly Metric[];
}

/** The figures at `nowMs`. */
export function clientStats(counters: ClientCounters, known: Iterable<Origin>, nowMs: number): ClientStats {
  const origins = [...known].map((origin) => originStats(origin, nowMs));
  const figures = {
    calls: counters.calls,
    attempts: counters.attempts,
    retries: counters.retries,
    outcomes: { ...counters.kinds },
    aborted: counters.aborted,
    stopped: { ...counters.stopped },
    waitedMs: { ...counters.waitedMs },
    waiting: counters.waiting,
    inFlight: origins.reduce((sum, { inFlight }) => sum + inFlight, 0),
    origins,
  };
  return { ...figures, metrics: metricsOf(figures) };
}

function originStats(origin: Origin, nowMs: number): OriginStats {
  return {
    origin: origin.name,
    inFlight: origin.inFlight,
    budgetLeft: origin.budget?.left,
    throttled: origin.throttle?.share(nowMs) ?? 0,
    breaker: origin.breaker?.state.kind,
    medianMs: origin.latency.ms,
  };
}

function metricsOf(stats: Omit<ClientStats, "metrics">): readonly Metric[] {
  const { outcomes, aborted, stopped, waitedMs, waiting, inFlight, origins } = stats;
  const waitedSeconds = Object.fromEntries(Object.entries(waitedMs).map(([cause, ms]) => [cause, ms / 1000]));
  const breakers = { open: 0, "half-open": 0 };
  for (const { breaker } of origins) if (breaker === "open" || breaker === "half-open") breakers[breaker]++;
  const throttled = origins.filter((origin) => origin.throttled > 0).length;
  return [
    metric("calls_total", "counter", "Calls by what became of them.", "outcome", { ...outcomes, aborted }),
    metric("stopped_total", "counter", "Calls by why they were not tried again.", "reason", stopped),
    metric("attempts_total", "counter", "Requests sent.", undefined, { "": stats.attempts }),
    metric("retries_total", "counter", "Retries decided.", undefined, { "": stats.retries }),
    metric("waited_seconds_total", "counter", "Time that calls have waited.", "cause", waitedSeconds),
    metric("waiting", "gauge", "Calls held back by a pause or by pacing.", undefined, { "": waiting }),
    metric("in_flight", "gauge", "Requests sent and not answered.", undefined, { "": inFlight }),
    metric("breakers", "gauge", "Origins whose breaker is not closed.", "state", breakers),
    metric("throttled_origins", "gauge", "Origins of which this client asks less than it is asked.", undefined, {
      "": throttled,
    }),
  ];
}

function metric(
  name: string,
  kind: Metric["kind"],
  help: string,
  label: string | undefined,
  values: Readonly<Record<string, number>>,
): Metric {
  const samples = Object.entries(values).map(([key, value]) => ({
    labels: label === undefined ? {} : { [label]: key },
    value,
  }));
  return { name: `spillway_client_${name}`, kind, help, samples };
}
