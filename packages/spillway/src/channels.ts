import { channel } from "node:diagnostics_channel";
import type { Decision } from "./decision.ts";
import type { SpillwayError } from "./errors.ts";
import type { StateChange } from "./health.ts";

/** What subscribers of `node:diagnostics_channel` get, by the channel's name. */
export interface ChannelMessages {
  /** Every decision of every limiter in this process. */
  readonly "spillway:decision": Decision;
  /** A store, or a node of one, stops or starts deciding. */
  readonly "spillway:state": StateChange;
  /** A call that the store answered with an error, or a bucket that it could not read. */
  readonly "spillway:store-error": SpillwayError;
}

const CHANNELS = {
  "spillway:decision": channel("spillway:decision"),
  "spillway:state": channel("spillway:state"),
  "spillway:store-error": channel("spillway:store-error"),
} as const;

const DECISIONS = CHANNELS["spillway:decision"];

/** As `publish`, for what happens most. */
export function publishDecision(decision: Decision): void {
  if (DECISIONS.hasSubscribers) DECISIONS.publish(decision);
}

/** Tells subscribers; costs next to nothing when there are none. */
export function publish<N extends keyof ChannelMessages>(name: N, message: ChannelMessages[N]): void {
  const target = CHANNELS[name];
  if (target.hasSubscribers) target.publish(message);
}
