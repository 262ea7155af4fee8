export type { AlgorithmName } from "./algorithms/bucket.ts";
export type { ChannelMessages } from "./channels.ts";
// The clock of this machine, for packages that stand on this one and for clocks that wrap it.
export { type Clock, systemClock, type Timer } from "./clock.ts";
export type {
  AllowedDecision,
  Decision,
  DecisionSource,
  PolicyStatus,
  RefusalReason,
  RefusedDecision,
} from "./decision.ts";
export type { Duration } from "./duration.ts";
export { isSpillwayError, SpillwayError, type SpillwayErrorCode } from "./errors.ts";
export type { HealthView, NodeHealth, StateChange } from "./health.ts";
export type { AskPart } from "./joint-ask.ts";
export type { PolicyOptions, PolicyView, StoreFailureMode } from "./policy.ts";
export type { Cost, PoliciesOption } from "./policy-set.ts";
export {
  type ConsumeOptions,
  createRateLimiter,
  type PeekResult,
  type RateLimiter,
  type RateLimiterOptions,
} from "./rate-limiter.ts";
export type { LeaseStats, LimiterStats } from "./stats.ts";
export {
  type ClusterStoreServer,
  type ServeClusterStoreOptions,
  serveClusterStore,
} from "./stores/cluster/primary-server.ts";
export { type ClusterStoreOptions, clusterStore } from "./stores/cluster-store.ts";
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from "./stores/memory-store.ts";
export type { RedisClient } from "./stores/redis/clients/adapt-client.ts";
export {
  fromSendCommand,
  type SendClusterCommand,
  type SendCommand,
  type SendCommandClient,
} from "./stores/redis/clients/send-command.ts";
export { type RedisStoreOptions, redisStore } from "./stores/redis/redis-store.ts";
export type { Adjustment, Allotment, Beat, PeekReply, Store, TakeCall, TakeReply } from "./stores/store.ts";
