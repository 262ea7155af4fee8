// A private Redis to test against: alone, or as a cluster.
export { RedisBinaryMissing } from "./redis-process.ts";
export { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";
export { type ClusterNode, type RedisCluster, type RedisClusterOptions, startRedisCluster } from "./redis-cluster.ts";
// What tests look at on a server.
export { commandCalls, keysUnder, keysWithoutExpiry, type ScanningClient } from "./key-scan.ts";
// Waiting that ends.
export { eventually, type EventuallyOptions } from "./eventually.ts";
export { withDeadline } from "./with-deadline.ts";
