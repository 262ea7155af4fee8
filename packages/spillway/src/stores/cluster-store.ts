import cluster from "node:cluster";
import { SpillwayError } from "../errors.ts";
import { requireObject, requireWhole } from "../options.ts";
import { encodeAddresses, encodeAdjustments, encodeBeat, encodeBlock, encodeTake } from "./cluster/call-encoding.ts";
import { type Served, servedHere } from "./cluster/primary-server.ts";
import { reviveAllotment, revivePeekReply, reviveTakeReply } from "./cluster/reply-encoding.ts";
import { WorkerChannel } from "./cluster/worker-channel.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { Adjustment, Allotment, Beat, BucketAddress, PeekReply, Store, TakeCall, TakeReply } from "./store.ts";

export interface ClusterStoreOptions {
  /**
   * How long a call waits for the primary to say that it serves, in ms: 1 to 60,000. Keep it below the limiter's `deadlineMs`,
   * so that the reason is told. Defaults to 40.
   */
  readonly handshakeMs?: number;
  /** Calls under way at one time; more are refused at once. 1 to 100,000, defaults to 1000. */
  readonly maxCallsInFlight?: number;
}

/** The line to the primary, one for all stores of this process. */
let channel: WorkerChannel | undefined;

/**
 * Buckets in the memory of a `node:cluster` primary, shared by its workers: one limit for one machine, without Redis. The
 * primary calls `serveClusterStore()`. Each call is one message there and one back; calls that the primary does not take up
 * reject with `ERR_SPILLWAY_STORE_UNAVAILABLE`, and none is sent twice. In a primary that serves, it is the served store itself.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`, also in a process that is neither a worker nor a primary that serves.
 */
export function clusterStore(options: ClusterStoreOptions = {}): Store {
  requireObject(options, "options", ["handshakeMs", "maxCallsInFlight"]);
  const handshakeMs = requireWhole(options.handshakeMs ?? 40, "handshakeMs", 1, 60_000);
  const maxCallsInFlight = requireWhole(options.maxCallsInFlight ?? 1000, "maxCallsInFlight", 1, 100_000);
  if (cluster.isWorker) {
    channel ??= new WorkerChannel(process);
    return new WorkerStore(channel, handshakeMs, maxCallsInFlight);
  }
  const served = servedHere();
  if (served !== undefined) return new PrimaryStore(served);
  throw new SpillwayError(
    "ERR_SPILLWAY_INVALID_OPTION",
    "clusterStore() is for workers of node:cluster, or for their primary after serveClusterStore(); this process is " +
      "neither. For one process use memoryStore(), for several use redisStore(client).",
  );
}

/** A worker's side: each method is a call to the primary. */
export class WorkerStore implements Store {
  readonly name = "cluster";
  readonly #channel: WorkerChannel;
  readonly #handshakeMs: number;
  readonly #maxCallsInFlight: number;
  #callsInFlight = 0;
  #closed = false;

  constructor(channel: WorkerChannel, handshakeMs: number, maxCallsInFlight: number) {
    this.#channel = channel;
    this.#handshakeMs = handshakeMs;
    this.#maxCallsInFlight = maxCallsInFlight;
    channel.open();
  }

  async take(call: TakeCall): Promise<TakeReply> {
    return reviveTakeReply(await this.#call("take", encodeTake(call)), call);
  }

  async peek(addresses: readonly BucketAddress[]): Promise<PeekReply> {
    return revivePeekReply(await this.#call("peek", encodeAddresses(addresses)), addresses);
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return revivePeekReply(await this.#call("adjust", encodeAdjustments(adjustments)), adjustments);
  }

  async block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply> {
    return revivePeekReply(await this.#call("block", encodeBlock(addresses, durationUs)), addresses);
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    await this.#call("reset", encodeAddresses(addresses));
  }

  async allotShares(beat: Beat): Promise<Allotment> {
    return reviveAllotment(await this.#call("allotShares", encodeBeat(beat)));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#channel.close();
  }

  async #call(method: string, args: unknown): Promise<unknown> {
    if (this.#closed) throw closed();
    if (this.#callsInFlight >= this.#maxCallsInFlight) {
      const message = `${this.#maxCallsInFlight} calls to the primary are under way; no more are sent.`;
      throw new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", message);
    }
    this.#callsInFlight++;
    try {
      if (!this.#channel.isServed) await this.#channel.served(this.#handshakeMs);
      return await this.#channel.call(method, args);
    } finally {
      this.#callsInFlight--;
    }
  }
}

/** The primary's own view: closing it closes nothing for the workers. */
class PrimaryStore implements Store {
  readonly name = "cluster (primary)";
  readonly #served: Served;
  #closed = false;

  constructor(served: Served) {
    this.#served = served;
  }

  async take(call: TakeCall): Promise<TakeReply> {
    return this.#open().take(call);
  }

  takeNow(call: TakeCall): TakeReply {
    return this.#open().takeNow(call);
  }

  async peek(addresses: readonly BucketAddress[]): Promise<PeekReply> {
    return this.#open().peek(addresses);
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<PeekReply> {
    return this.#open().adjust(adjustments);
  }

  async block(addresses: readonly BucketAddress[], durationUs: number): Promise<PeekReply> {
    return this.#open().block(addresses, durationUs);
  }

  async reset(addresses: readonly BucketAddress[]): Promise<void> {
    return this.#open().reset(addresses);
  }

  async allotShares(beat: Beat): Promise<Allotment> {
    this.#open();
    return this.#served.allotShares(beat);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(): MemoryStore {
    if (this.#closed || servedHere() !== this.#served) throw closed();
    return this.#served.store;
  }
}

function closed(): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
}
