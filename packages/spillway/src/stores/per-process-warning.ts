import cluster from "node:cluster";

let warned = false;

/**
 * Warns, once in a worker of `node:cluster`, that a limit kept in its memory is not shared: N workers admit N times as much.
 * Does nothing in other processes.
 */
export function warnOfPerProcessLimit(): void {
  if (warned || !cluster.isWorker) return;
  warned = true;
  process.emitWarning(
    "This limiter has no store, so its limit is for this worker alone: all workers together admit as many times as much. " +
      "Give it clusterStore() or redisStore(client) to share one limit, or memoryStore() to say that this is meant.",
    "SpillwayWarning",
  );
}
