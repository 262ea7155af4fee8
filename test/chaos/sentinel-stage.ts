import { type RedisSentinel, startRedisSentinel } from "@spillway/testkit";
import { adminOf, primariesAmong, type Stage } from "./stage.ts";

/** A primary and its replica under the watch of three sentinels. */
export interface SentinelStage extends Stage {
  readonly sentinel: RedisSentinel;
}

export async function openSentinel(): Promise<SentinelStage> {
  const sentinel = await startRedisSentinel();
  const servers = [sentinel.firstPrimary, sentinel.firstReplica];
  const admins = servers.map(({ port }) => adminOf(port));
  return {
    sentinel,
    clientOf: () => ({
      driver: "ioredis",
      redis: { sentinels: [...sentinel.sentinels], name: sentinel.primaryName },
    }),
    nodeOf: () => "",
    primariesNow: () => primariesAmong(admins.filter((_admin, index) => servers[index]?.running)),
    async [Symbol.asyncDispose]() {
      for (const admin of admins) admin.disconnect();
      await sentinel.stop();
    },
  };
}
