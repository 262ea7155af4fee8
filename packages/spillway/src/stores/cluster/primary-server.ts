import cluster, { type Worker } from "node:cluster";
import { systemClock } from "../../clock.ts";
import { isSpillwayError, SpillwayError, show } from "../../errors.ts";
import { type MemoryStore, type MemoryStoreOptions, memoryStore } from "../memory-store.ts";
import { ShareLedger } from "../share-ledger.ts";
import type { Allotment, Beat } from "../store.ts";
import { reviveAddresses, reviveAdjustments, reviveBeat, reviveBlock, reviveTake } from "./call-encoding.ts";
import {
  type CallMessage,
  errorMessage,
  GREETING,
  isCall,
  type ReplyMessage,
  resultMessage,
  SERVICE_ID,
} from "./message.ts";
import { encodeAllotment, encodePeekReply, encodeTakeReply } from "./reply-encoding.ts";
import { strange } from "./wire-reading.ts";

export type ServeClusterStoreOptions = MemoryStoreOptions;

/** The primary's side of `clusterStore`. */
export interface ClusterStoreServer {
  /** Stops serving and forgets the buckets. Calls of workers fail from now on. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a primary serves. */
export interface Served {
  readonly store: MemoryStore;
  allotShares(beat: Beat): Allotment;
}

let current: Served | undefined;

/** What this process serves to its workers; `undefined` when it serves nothing. */
export function servedHere(): Served | undefined {
  return current;
}

/**
 * Lets the workers of this `node:cluster` primary share one limit: they reach a memory store of this process through
 * `clusterStore()`. Call it once, before or after the workers are forked. The buckets live as long as this process; its
 * workers end with it. What a worker took for a call that it did not live to hear of stays taken.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`, also in a worker and while another server is open.
 */
export function serveClusterStore(options: ServeClusterStoreOptions = {}): ClusterStoreServer {
  if (!cluster.isPrimary)
    throw misplaced("serveClusterStore is for the primary; this process is a worker of a cluster.");
  if (current !== undefined)
    throw misplaced("serveClusterStore serves this process already; close() the first server.");
  const { clock = systemClock } = options;
  const ledger = new ShareLedger();
  const served: Served = {
    store: memoryStore(options),
    allotShares: (beat) => ledger.allot(beat, Math.floor(clock.monotonicMs())),
  };
  const onMessage = (worker: Worker, message: unknown): void => {
    if (isCall(message)) answer(served, worker, message);
  };
  const tellAll = (reply: ReplyMessage): void => {
    for (const worker of Object.values(cluster.workers ?? {})) if (worker !== undefined) send(worker, reply);
  };
  current = served;
  cluster.on("message", onMessage);
  tellAll(resultMessage(SERVICE_ID, true));
  const close = async (): Promise<void> => {
    if (current !== served) return;
    current = undefined;
    cluster.off("message", onMessage);
    tellAll(
      errorMessage(SERVICE_ID, "ERR_SPILLWAY_STORE_UNAVAILABLE", "The primary has stopped serving clusterStore."),
    );
    await served.store.close();
  };
  return { close, [Symbol.asyncDispose]: close };
}

function answer(served: Served, worker: Worker, { id, method, args }: CallMessage): void {
  perform(served, method, args).then(
    (result) => send(worker, resultMessage(id, result)),
    (cause: unknown) => {
      const error = isSpillwayError(cause) ? cause : undefined;
      send(worker, errorMessage(id, error?.code ?? "ERR_SPILLWAY_STORE_FAILED", error?.message ?? String(cause)));
    },
  );
}

async function perform({ store, allotShares }: Served, method: string, args: unknown): Promise<unknown> {
  switch (method) {
    case GREETING:
      return true;
    case "take": {
      const call = reviveTake(args);
      return encodeTakeReply(store.takeNow(call), call);
    }
    case "peek": {
      const addresses = reviveAddresses(args);
      return encodePeekReply(await store.peek(addresses), addresses);
    }
    case "adjust": {
      const adjustments = reviveAdjustments(args);
      return encodePeekReply(await store.adjust(adjustments), adjustments);
    }
    case "block": {
      const { addresses, durationUs } = reviveBlock(args);
      return encodePeekReply(await store.block(addresses, durationUs), addresses);
    }
    case "reset":
      await store.reset(reviveAddresses(args));
      return true;
    case "allotShares":
      return encodeAllotment(allotShares(reviveBeat(args)));
    default:
      throw strange(`the method is ${show(method)}`);
  }
}

function send(worker: Worker, reply: ReplyMessage): void {
  worker.send(reply, () => {}); // A worker that is gone needs no answer; without a callback it would be an error event.
}

function misplaced(message: string): SpillwayError {
  return new SpillwayError("ERR_SPILLWAY_INVALID_OPTION", message);
}
