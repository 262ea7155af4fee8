import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { eventually, withDeadline } from "@spillway/testkit";
import { isSpillwayError, redisStore } from "spillway";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Store, TakeReply } from "../../packages/spillway/src/stores/store.ts";
import {
  keysOfOneGroup,
  newKey,
  policyOf,
  remaining,
  runOf,
} from "../../packages/spillway/src/testing/contract/contract-case.ts";
import { type ClientKind, DUPLICATED, SEND_COMMAND, type UserClient } from "./redis-clients/kinds.ts";
import { type Rig, startRig, type Topology } from "./redis-clients/rig.ts";

const HOUR = policyOf({ name: "hour", limit: 100, period: "1h" });
const TOPOLOGIES: readonly Topology[] = ["standalone", "sentinel", "cluster"];
const unavailable = expect.objectContaining({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE" });

const takeOne = (store: Store, key: string): Promise<TakeReply> =>
  store.take({ buckets: [{ key, policy: HOUR, report: undefined }], runs: [runOf(1)] });
const faultOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no fault",
    (error: unknown) => error,
  );

/** Each event with how many listen. */
function listenersOf({ emitter }: UserClient): Record<string, number> {
  return Object.fromEntries(emitter.eventNames().map((event) => [String(event), emitter.listenerCount(event)]));
}

describe.each(TOPOLOGIES)("%s", (topology) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(topology);
  });
  afterAll(() => rig?.stop());

  let user: UserClient;
  let store: Store;
  /** Makes the client and the store over it. */
  function open(kind: ClientKind, options: { safe?: boolean; useAsIs?: boolean; prefix?: string } = {}): void {
    const { safe = false, ...rest } = options;
    user = kind.create(rig.target, safe);
    store = redisStore(user.client, rest);
  }
  beforeEach(() => rig.forget());
  afterEach(async () => {
    await store?.close();
    user?.end();
  });

  const ofThis = ({ topology: needed }: ClientKind): boolean => needed === topology;
  const duplicated = DUPLICATED.filter(ofThis);
  const all = [...duplicated, ...SEND_COMMAND.filter(ofThis)];
  /** Ways to use a client: each that is duplicated, and each as it is, which is all that can be done with a function. */
  const ways = [
    ...duplicated.map((kind) => ({ way: kind.name, kind, useAsIs: false })),
    ...all.map((kind) => ({ way: `${kind.name}, used as it is`, kind, useAsIs: true })),
  ];
  const start = async (kind: ClientKind, useAsIs: boolean): Promise<void> => {
    open(kind, { useAsIs, safe: true });
    if (useAsIs) await user.connect();
  };

  describe.each(ways)("$way", ({ kind, useAsIs }) => {
    it("sends a script once: by its hash, and its text once where the server does not know it", async () => {
      await start(kind, useAsIs);
      await takeOne(store, newKey());
      for (const admin of rig.admins) await admin.call("SCRIPT", "FLUSH", "SYNC");
      rig.proxies.forEach(({ commands }) => void commands.clear());
      const key = newKey();
      for (let i = 0; i < 3; i++) await takeOne(store, key);
      expect([rig.calls("EVALSHA"), rig.calls("EVAL")]).toEqual([3, 1]);
      expect(await remaining(store, key, HOUR)).toBe(97);
    });

    it("decides exactly while the server forgets its scripts under concurrent calls", async () => {
      await start(kind, useAsIs);
      const [key] = keysOfOneGroup(store, 1) as [string];
      const served = async (): Promise<number> => {
        const replies = await Promise.all(Array.from({ length: 60 }, () => takeOne(store, key)));
        return replies.reduce((sum, reply) => sum + (reply.served[0] ?? 0), 0);
      };
      const first = await served();
      for (const admin of rig.admins) await admin.call("SCRIPT", "FLUSH", "SYNC");
      expect(first + (await served())).toBe(100);
    });

    it("never sends a call again whose reply was lost", async () => {
      await start(kind, useAsIs);
      const key = newKey();
      await takeOne(store, key);
      rig.proxies.forEach(({ commands }) => void commands.clear());
      await takeOne(store, key);
      rig.proxies.find(({ commands }) => commands.has("EVALSHA"))?.cutAfterExecution(1, "EVALSHA");
      const fault = await faultOf(withDeadline(takeOne(store, key), 2000, "the lost call to fail"));
      expect(fault).toMatchObject({ code: "ERR_SPILLWAY_STORE_FAILED", cause: expect.any(Error) });
      expect(rig.calls("EVALSHA")).toBe(2);
      const again = async (): Promise<number> => await remaining(store, key, HOUR);
      expect(await eventually(again, { withinMs: 3000, everyMs: 50 })).toBe(97);
      await sleep(300);
      expect(await again()).toBe(97);
    });

    it("rejects at once where nobody listens, with the reason, and all who ask alike", async () => {
      for (const proxy of rig.proxies) await proxy.cut();
      open(kind, { useAsIs, safe: true });
      if (useAsIs) user.connect().catch(() => {});
      const startedMs = performance.now();
      const faults = await Promise.all([1, 2, 3].map(() => faultOf(takeOne(store, newKey()))));
      expect(performance.now() - startedMs).toBeLessThan(1000);
      expect(faults).toEqual([unavailable, unavailable, unavailable]);
      // Of its search for nodes ioredis tells no more than that it failed.
      if (!useAsIs && !kind.name.endsWith("Cluster"))
        for (const { cause } of faults as Error[]) expect(inspect(cause)).toContain("ECONNREFUSED");
    });

    it("comes back by itself once the server does", async () => {
      await start(kind, useAsIs);
      const key = newKey();
      await takeOne(store, key);
      for (const proxy of rig.proxies) await proxy.cut();
      const startedMs = performance.now();
      await eventually(async () => isSpillwayError(await faultOf(takeOne(store, key))), { withinMs: 1000 });
      await sleep(300);
      expect(await faultOf(takeOne(store, key))).toEqual(unavailable);
      expect(performance.now() - startedMs).toBeLessThan(2500);
      for (const proxy of rig.proxies) await proxy.mend();
      await eventually(() => takeOne(store, key), { withinMs: 3000, everyMs: 50 });
    });

    it("leaves the user's client as it was: open, its listeners, its options", async () => {
      open(kind, { useAsIs, safe: true });
      await user.connect();
      await user.isUsable();
      const before = { listeners: listenersOf(user), options: inspect(user.options, { depth: 6 }) };
      const now = (): object => ({ listeners: listenersOf(user), options: inspect(user.options, { depth: 6 }) });
      for (let i = 0; i < 20; i++) await takeOne(store, newKey());
      expect(now()).toEqual(before);
      await store.close();
      await store.close();
      expect(now()).toEqual(before);
      expect(await user.isUsable()).toBe(true);
      await expect(takeOne(store, newKey())).rejects.toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
    });
  });

  describe.each(duplicated)("$name", (kind) => {
    it("waits while a connection is being made, to each node", async () => {
      for (const proxy of rig.proxies) proxy.delay(40);
      open(kind);
      const keys = Array.from({ length: 30 }, newKey);
      const replies = await Promise.all(keys.map((key) => takeOne(store, key)));
      expect(replies.every(({ served }) => served[0] === 1)).toBe(true);
    });

    it("connects neither twice nor without need", async () => {
      open(kind);
      await takeOne(store, newKey());
      const connections = (): number => rig.proxies.reduce((sum, proxy) => sum + proxy.connections, 0);
      await Promise.all(Array.from({ length: 20 }, () => takeOne(store, newKey())));
      await eventually(() => connections() <= rig.proxies.length, { withinMs: 1000 });
      for (const proxy of rig.proxies) await proxy.cut();
      for (const proxy of rig.proxies) await proxy.mend();
      await sleep(500);
      expect(connections()).toBe(0);
      await eventually(() => takeOne(store, newKey()), { withinMs: 1000 });
      await store.close();
      await eventually(() => connections() === 0, { withinMs: 1000 });
    });

    it("gives up a call that waits for a connection when the store is closed", async () => {
      for (const proxy of rig.proxies) proxy.stall();
      open(kind);
      const fault = faultOf(takeOne(store, newKey()));
      await sleep(50);
      await store.close();
      expect(await withDeadline(fault, 1500, "the call to fail")).toBeInstanceOf(Error);
    });

    it("gives up a connection on which nothing comes back, and makes another when it can", async () => {
      for (const proxy of rig.proxies) proxy.halfOpen();
      open(kind);
      const key = newKey();
      const faults: unknown[] = [];
      const call = (): boolean => {
        void faultOf(takeOne(store, key)).then((fault) => faults.push(fault));
        return faults.length > 0;
      };
      await eventually(call, { withinMs: 6000, everyMs: 100 });
      expect(faults[0]).toBeInstanceOf(Error);
      for (const proxy of rig.proxies) proxy.resume();
      await eventually(() => takeOne(store, key), { withinMs: 3000, everyMs: 100 });
    });
  });

  describe.each(duplicated)("$name, used as it is", (kind) => {
    it("waits while the user's client connects, and leaves no listener behind", async () => {
      for (const proxy of rig.proxies) proxy.delay(30);
      open(kind, { useAsIs: true, safe: true });
      const before = listenersOf(user);
      const connected = user.connect();
      const faults = await Promise.all(Array.from({ length: 20 }, () => faultOf(takeOne(store, newKey()))));
      await connected;
      expect(new Set(faults)).toEqual(new Set(["no fault"]));
      expect({ ...listenersOf(user), ...before }).toEqual(listenersOf(user));
    });
  });
});
