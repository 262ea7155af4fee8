// A private Redis to test against: alone, as a cluster, or watched by sentinels.

// Waiting that ends.
export { type EventuallyOptions, eventually } from "./eventually.ts";
// A server whose clock jumps.
export { type FakedClock, fakedClock, findFakeTime } from "./faked-clock.ts";
// Faults on the way to a server, and processes that share one.
export { type FaultProxy, type FaultProxyOptions, startFaultProxy } from "./fault-proxy.ts";
export { answerFleet } from "./fleet-worker.ts";
// What tests look at on a server.
export { commandCalls, keysUnder, keysWithoutExpiry, type ScanningClient } from "./key-scan.ts";
// Whatever Redis this machine has.
export { findRedisServer, type RedisBinary } from "./redis-binary.ts";
export { type ClusterNode, type RedisCluster, type RedisClusterOptions, startRedisCluster } from "./redis-cluster.ts";
export { hasImage, type RedisContainer, redisImage, startRedisContainer, whyNoContainers } from "./redis-container.ts";
export { type InstallOptions, type InstallOutcome, installRedisServer } from "./redis-install.ts";
export { RedisBinaryMissing } from "./redis-process.ts";
export { type Address, type RedisSentinel, type RedisSentinelOptions, startRedisSentinel } from "./redis-sentinel.ts";
export { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";
export { findRedis, type OpenRedis, openRedis, type RedisSource } from "./redis-source.ts";
export { withDeadline } from "./with-deadline.ts";
export { startWorkerFleet, type WorkerFleet, type WorkerFleetOptions } from "./worker-fleet.ts";
