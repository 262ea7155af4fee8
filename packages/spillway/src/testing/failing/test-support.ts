import { setImmediate as turn } from "node:timers/promises";
import { expect } from "vitest";
import { SpillwayError } from "../../errors.ts";
import { type GuardedCall, NodeGuard } from "../../failover/guarded-store.ts";
import { type Policy, resolvePolicy } from "../../policy.ts";
import { memoryStore } from "../../stores/memory-store.ts";
import type { Store, TakeCall, TakeReply } from "../../stores/store.ts";
import { type ManualClock, manualClock } from "../manual-clock.ts";

export const DEADLINE_MS = 50;
const POLICY: Policy = resolvePolicy({ name: "p", limit: 10, period: "1s" }, "policy");
const REPLY: TakeReply = { nowUs: 1, buckets: [], served: [1] };
export const CALL: TakeCall = {
  buckets: [{ key: "key", policy: POLICY, report: undefined }],
  runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }],
};
/** What opens a breaker at once. */
export const UNAVAILABLE: SpillwayError = new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "READONLY");

/** What the store was asked, to be answered by the test. */
export interface Asked {
  readonly call: TakeCall;
  answer(): void;
  fail(error: unknown): void;
}

/** A guard over a store that does what the test says. */
export class GuardWorld {
  readonly clock: ManualClock = manualClock();
  readonly asked: Asked[] = [];
  /** What happened, in order. */
  readonly log: string[] = [];
  /** Where the store says that keys live. */
  node: string | undefined;
  throws = false;
  readonly guard: NodeGuard;

  constructor(node = "", deadlineMs = DEADLINE_MS) {
    this.node = node;
    const store: Store = Object.assign(memoryStore({ clock: this.clock }), {
      nodeOf: () => this.node as string,
      take: (call: TakeCall) => {
        if (this.throws) throw new Error("thrown, not rejected");
        return new Promise<TakeReply>((resolve, reject) => {
          this.asked.push({ call, answer: () => resolve(REPLY), fail: reject });
        });
      },
    });
    this.guard = new NodeGuard(store, node, this.clock, deadlineMs, {
      onBreaker: ({ kind }, before) => this.log.push(`${before.kind} -> ${kind}`),
      onMoved: () => this.log.push("moved"),
      onStillAway: () => {},
      onMiss: () => this.log.push("missed"),
      onFault: ({ code }) => this.log.push(code),
      onSent: () => {},
    });
  }

  /** Sends one call whose oldest caller came so long ago. */
  send(waitedMs = 0): { outcome: string | undefined } {
    const result: { outcome: string | undefined } = { outcome: undefined };
    const becomes = (outcome: string): void => {
      result.outcome = result.outcome === undefined ? outcome : `${result.outcome}, ${outcome}`;
    };
    const call: GuardedCall = {
      call: CALL,
      onReply: (_reply, ms) => becomes(`reply ${ms}`),
      onMiss: () => becomes("miss"),
      onLate: (_reply, ms) => becomes(`late ${ms}`),
      onFault: ({ message }) => becomes(message),
    };
    this.guard.send([call], this.clock.monotonicMs() - waitedMs);
    return result;
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turn();
    await turn();
  }

  async answer(index = -1): Promise<void> {
    this.asked.at(index)?.answer();
    await turn();
  }

  async fail(error: unknown, index = -1): Promise<void> {
    this.asked.at(index)?.fail(error);
    await turn();
  }

  /** Waits for the probe that is due. */
  async probe(): Promise<void> {
    const { length } = this.asked;
    for (let ms = 0; ms < 1300 && this.asked.length === length; ms += 5) await this.pass(5);
    expect(this.asked[length]?.call).toEqual({ buckets: CALL.buckets, runs: [] });
  }

  async open(): Promise<void> {
    this.send();
    await this.fail(UNAVAILABLE);
    expect(this.guard.isOpen).toBe(true);
  }

  async halfOpen(): Promise<void> {
    await this.open();
    await this.probe();
    await this.answer();
    expect(this.guard.state.kind).toBe("half-open");
  }
}
