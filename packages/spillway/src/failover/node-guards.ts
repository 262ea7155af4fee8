import { publish } from "../channels.ts";
import type { Clock } from "../clock.ts";
import { type SpillwayError, thrownText } from "../errors.ts";
import type { HealthView, NodeHealth, StateChange } from "../health.ts";
import type { Store } from "../stores/store.ts";
import { onRejection } from "../thenable.ts";
import type { BreakerState } from "./circuit-breaker.ts";
import { NodeGuard, nodeOf } from "./guarded-store.ts";

/** What became of calls, for `stats()`. */
export interface CallCounts {
  calls: number;
  misses: number;
  faults: number;
}

/** How a node was away that answers again. */
export interface Absence {
  /** Since when this process had known of it. */
  readonly awaySinceMs: number;
  /** For how long it may have been back. */
  readonly unnoticedMs: number;
  /** For how long it can have been away, for whichever process. */
  readonly silentMs: number;
}

/** What the limiter is told of the parts of its store. */
export interface GuardsListener {
  /** What it throws, and what a promise that it returns rejects with, is a process warning. */
  onStateChange(change: StateChange): unknown;
  onSent(): void;
  /** A node has answered a probe. */
  onAnswering(node: string, absence: Absence): void;
  /** A node is left alone; for good when its keys have moved. */
  onGone(node: string, isForGood: boolean): void;
  /** A node that is left alone has not answered a probe. */
  onStillAway(): void;
}

const AWAY = (reason: string): string => `cannot decide (${reason}); this process decides without it until it is back.`;
const BACK = (): string => "decides again.";
const MOVED = (): string => "is not asked any more: its keys have moved to another node.";

/** The guards of all parts of a store, made as keys need them. */
export class NodeGuards {
  readonly counts: CallCounts = { calls: 0, misses: 0, faults: 0 };
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #listener: GuardsListener;
  readonly #guards = new Map<string, NodeGuard>();

  constructor(store: Store, clock: Clock, deadlineMs: number, listener: GuardsListener) {
    this.#store = store;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#listener = listener;
  }

  groupOf(key: string): number {
    return this.#store.groupOf?.(key) ?? 0;
  }

  /** The part of the store that a key lives on now. */
  nodeOf(key: string): string {
    return nodeOf(this.#store, this.groupOf(key));
  }

  /** Whether each part of the store has answered when it was last asked, though perhaps only a probe. */
  get isAnswering(): boolean {
    for (const guard of this.#guards.values()) if (guard.state.kind === "open") return false;
    return true;
  }

  /** Whether callers wait for any part of the store, who are not decided for yet. */
  get isAsked(): boolean {
    for (const guard of this.#guards.values()) if (guard.isAsked) return true;
    return false;
  }

  guardOf(group: number): NodeGuard {
    const node = nodeOf(this.#store, group);
    return this.#guards.get(node) ?? this.#newGuard(node);
  }

  /** A node that answers is back for everybody. */
  countOn(node: string): void {
    this.#guards.get(node)?.countOn();
  }

  /** A bucket could not be read: its callers are decided for, and the store is not to blame. */
  noteFault(error: SpillwayError): void {
    this.counts.faults++;
    publish("spillway:store-error", error);
  }

  health(): HealthView {
    const asked = [...this.#guards].filter(([, guard]) => guard.state.kind !== "closed" || !guard.hasMoved);
    const nodes = asked.map(([node, guard]) => healthOf(node, guard));
    const warnings = nodes
      .filter(({ roundTripMs }) => 2 * roundTripMs > this.#deadlineMs)
      .map(
        ({ node, roundTripMs }) =>
          `Round trips to ${this.#nameOf(node)} take up to ${roundTripMs.toFixed(1)} ms: the deadline of ${this.#deadlineMs} ` +
          "ms should be at least twice that, or calls that only take long count as missed.",
      );
    const isLeftAlone = ({ state: { kind }, isCountedOn }: NodeGuard): boolean => kind !== "closed" && !isCountedOn;
    return { degraded: asked.some(([, guard]) => isLeftAlone(guard)), nodes, warnings };
  }

  close(): void {
    for (const guard of this.#guards.values()) guard.close();
  }

  #newGuard(node: string): NodeGuard {
    const guard = new NodeGuard(this.#store, node, this.#clock, this.#deadlineMs, {
      onBreaker: (after, before) => this.#tell(node, guard, after, before),
      onMoved: () => this.#forget(node),
      onMiss: () => {
        this.counts.misses++;
      },
      onFault: (error) => this.noteFault(error),
      onSent: (calls) => {
        this.counts.calls += calls;
        this.#listener.onSent();
      },
      onStillAway: () => this.#listener.onStillAway(),
    });
    this.#guards.set(node, guard);
    return guard;
  }

  #tell(node: string, guard: NodeGuard, after: BreakerState, before: BreakerState): void {
    if (after.kind === "half-open")
      this.#listener.onAnswering(node, {
        awaySinceMs: guard.awaySinceMs ?? after.sinceMs,
        unnoticedMs: guard.unnoticedMs,
        silentMs: guard.silentMs,
      });
    else if (after.kind === "open") this.#listener.onGone(node, false);
    if (after.kind === "open" && before.kind === "closed") this.#change(node, "away", after.reason, AWAY);
    else if (after.kind === "closed") this.#change(node, "back", "it answers again", BACK);
  }

  /** A node whose keys have moved to another one is waited for no more. */
  #forget(node: string): void {
    this.#guards.get(node)?.close();
    this.#guards.delete(node);
    this.#listener.onGone(node, true);
    this.#change(node, "back", "its keys have moved", node === "" ? BACK : MOVED);
  }

  #change(node: string, state: StateChange["state"], reason: string, what: (reason: string) => string): void {
    const message = `${this.#nameOf(node)} ${what(reason)}`;
    const change: StateChange = { store: this.#store.name, node, state, reason, message };
    publish("spillway:state", change);
    try {
      onRejection(this.#listener.onStateChange(change), (error) => warnOf("rejected", error));
    } catch (error) {
      // A listener's fault must not reach the callers who wait behind this change.
      warnOf("threw", error);
    }
  }

  #nameOf(node: string): string {
    return node === "" ? `The store ${this.#store.name}` : `The store ${this.#store.name} at ${node}`;
  }
}

function warnOf(fault: "threw" | "rejected", error: unknown): void {
  process.emitWarning(`onStateChange ${fault}: ${thrownText(error)}`, "SpillwayWarning");
}

function healthOf(node: string, guard: NodeGuard): NodeHealth {
  const { state, roundTripMs } = guard;
  if (state.kind === "closed") return { node, state: "ready", reason: undefined, sinceMs: undefined, roundTripMs };
  const { reason, sinceMs } = state;
  return { node, state: state.kind === "open" ? "away" : "trying", reason, sinceMs, roundTripMs };
}
