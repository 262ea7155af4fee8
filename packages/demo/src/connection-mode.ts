/** How requests travel: each on a connection of its own, or on connections that stay open. */
export type ConnectionMode = "one per request" | "kept open, dealt out evenly";

/** From here on, opening a connection for each request would cost the machine more than all it is meant to measure. */
const HIGH_RATE_PER_SECOND = 1000;

/** The way for so many requests per second when none is asked for. */
export function connectionModeFor(offeredPerSecond: number): ConnectionMode {
  return offeredPerSecond > HIGH_RATE_PER_SECOND ? "kept open, dealt out evenly" : "one per request";
}

/** Why it is so, in words for the user. */
export function explainConnections(mode: ConnectionMode): string {
  return mode === "one per request"
    ? "One per request. Keep-alive would pin the load to few workers and hide the leak."
    : "Kept open, as many to each worker, and each request goes to the next worker in turn: at this rate, opening a " +
        "connection for each request would take more of the machine than everything that is measured.";
}
