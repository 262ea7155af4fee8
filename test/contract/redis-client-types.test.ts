import { Cluster, Redis } from "ioredis";
import type { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { createClient, createClientPool, createCluster } from "redis";
import { fromSendCommand, type RedisClient, type SendCommandClient } from "spillway";
import { describe, expectTypeOf, it } from "vitest";

// Nothing here runs beyond making the functions: what counts is that the compiler accepts it.
describe("the types of clients", () => {
  it("of ioredis and iovalkey are accepted, standalone, with Sentinel and Cluster", () => {
    expectTypeOf<Redis>().toExtend<RedisClient>();
    expectTypeOf<Cluster>().toExtend<RedisClient>();
    expectTypeOf(() => new Redis({ protocol: 3, replyMapping: "resp3" })).returns.toExtend<RedisClient>();
    expectTypeOf(() => new Cluster([], { redisOptions: {} })).returns.toExtend<RedisClient>();
    expectTypeOf<Valkey>().toExtend<RedisClient>();
    expectTypeOf<ValkeyCluster>().toExtend<RedisClient>();
  });

  it("of node-redis are accepted, clients and clusters, whatever their modules, scripts and protocol", () => {
    expectTypeOf(() => createClient()).returns.toExtend<RedisClient>();
    expectTypeOf(() => createClient({ RESP: 2 })).returns.toExtend<RedisClient>();
    expectTypeOf(() => createClient({ RESP: 3, modules: {}, functions: {} })).returns.toExtend<RedisClient>();
    expectTypeOf(() => createCluster({ rootNodes: [] })).returns.toExtend<RedisClient>();
    expectTypeOf(() => createCluster({ rootNodes: [], RESP: 2 })).returns.toExtend<RedisClient>();
  });

  it("of what has another shape are not", () => {
    expectTypeOf<string>().not.toExtend<RedisClient>();
    expectTypeOf<(...command: string[]) => Promise<unknown>>().not.toExtend<RedisClient>();
    expectTypeOf(() => createClientPool()).returns.not.toExtend<RedisClient>();
  });

  it("of functions fit their form, with and without a cluster", () => {
    const redis = {} as Redis;
    const cluster = {} as ReturnType<typeof createCluster>;
    expectTypeOf(() =>
      fromSendCommand((name = "", ...args) => redis.call(name, ...args)),
    ).returns.toEqualTypeOf<SendCommandClient>();
    expectTypeOf(() =>
      fromSendCommand(({ key, command }) => cluster.sendCommand(key, false, command), { cluster: true }),
    ).returns.toExtend<RedisClient>();
    // @ts-expect-error: without the option the function is given the words of the command
    void (() => fromSendCommand(({ key }: { key: string }) => Promise.resolve(key)));
  });
});
