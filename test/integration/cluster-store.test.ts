import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { eventually, withDeadline } from "@spillway/testkit";
import { type ClusterStoreServer, clusterStore, createRateLimiter, serveClusterStore } from "spillway";
import { manualClock, type StoreUnderTest, storeContract } from "spillway/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { algorithmOf, type BucketState } from "../../packages/spillway/src/algorithms/bucket.ts";
import type { Store } from "../../packages/spillway/src/stores/store.ts";
import { policyOf } from "../../packages/spillway/src/testing/contract/contract-case.ts";
import { type AskableWorker, forkWorker } from "./cluster-workers.ts";

const PRIMARY = fileURLToPath(new URL("fixtures/cluster-primary.mjs", import.meta.url));
const POLICY = policyOf({ name: "hour", limit: 100, period: "1h" });
const TAKE_ONE = [
  {
    buckets: [{ key: "k", policy: POLICY, report: undefined }],
    runs: [{ count: 1, charges: [{ bucket: 0, cost: 1 }] }],
  },
];

interface Outcome {
  readonly result?: {
    readonly served: readonly number[];
    readonly buckets: readonly { readonly state: BucketState }[];
  };
  readonly error?: { readonly code: string; readonly message: string };
  readonly ms?: number;
}

const workers: AskableWorker[] = [];
let server: ClusterStoreServer | undefined;

async function fork(count: number): Promise<AskableWorker[]> {
  const forked = await Promise.all(Array.from({ length: count }, () => forkWorker()));
  workers.push(...forked);
  return forked;
}

async function forkOne(): Promise<AskableWorker> {
  const [worker] = await fork(1);
  await worker?.ask("open", { name: "store" });
  return worker as AskableWorker;
}

/** Whole tokens that are left in the only bucket of an outcome. */
function left({ result }: Outcome): number {
  return algorithmOf(POLICY.shape).remaining(result?.buckets[0]?.state as BucketState, POLICY.shape);
}

const take = async (worker: AskableWorker): Promise<Outcome> =>
  (await worker.ask("call", { name: "store", method: "take", args: TAKE_ONE })) as Outcome;

/** This process, the primary, does nothing at all for a while. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

afterEach(async () => {
  await server?.close();
  server = undefined;
  for (const { worker, exited } of workers.splice(0)) {
    worker.process.kill("SIGKILL");
    await exited;
  }
});

describe("workers that share one limit", () => {
  it.each([["asking each time", false] as const, ["with leases", undefined] as const])(
    "admit exactly the limit between them, %s",
    async (_title, lease) => {
      server = serveClusterStore();
      const four = await fork(4);
      const options = {
        store: { handshakeMs: 4000 },
        policies: { name: "hour", limit: 100, period: "1h" },
        lease: lease ?? { maxDrainMs: 50 },
      };
      const outcomes = (await Promise.all(
        four.map((worker) => worker.ask("consume", { key: "k", count: 100, options })),
      )) as { allowed: number; sources: object }[];
      const allowed = outcomes.reduce((sum, outcome) => sum + outcome.allowed, 0);
      expect(allowed).toBeLessThanOrEqual(100);
      expect(allowed).toBeGreaterThanOrEqual(lease === false ? 100 : 80);
      for (const { sources } of outcomes) expect(sources).not.toHaveProperty("backstop");
    },
  );

  it("share it with their primary, which decides at once", async () => {
    server = serveClusterStore();
    const limiter = createRateLimiter({ store: clusterStore(), policies: { name: "hour", limit: 100, period: "1h" } });
    const [worker] = await fork(1);
    await worker?.ask("consume", { key: "k", count: 90 });
    expect(limiter.consumeNow("k", { cost: 11 })).toMatchObject({ allowed: false, source: "store" });
    expect(limiter.consumeNow("k", { cost: 10 })).toMatchObject({ allowed: true, remaining: 0 });
    await limiter.close();
    expect(await worker?.ask("consume", { key: "k", count: 1 })).toMatchObject({ allowed: 0 });
  });

  it("hold one listener each on the channel, however many limiters they have", async () => {
    server = serveClusterStore();
    const worker = (await fork(1))[0] as AskableWorker;
    const before = await worker.ask("listeners");
    for (let i = 0; i < 5; i++) await worker.ask("consume", { limiter: `limiter ${i}`, key: "k", count: 3 });
    expect(await worker.ask("listeners")).toEqual((before as number[]).map((count) => count + 1));
  });
});

describe("a primary that does not serve", () => {
  it("is named, soon enough for the limiter's deadline, and found once it serves", async () => {
    const worker = await forkOne();
    const { error, ms } = await take(worker);
    expect(error?.code).toBe("ERR_SPILLWAY_STORE_UNAVAILABLE");
    expect(error?.message).toContain("serveClusterStore()");
    expect(ms).toBeLessThan(50);
    const options = { deadlineMs: 50, policies: { name: "hour", limit: 100, period: "1h" } };
    expect(await worker.ask("consume", { key: "k", count: 3, options })).toEqual({
      allowed: 3,
      sources: { backstop: 3 },
    });
    server = serveClusterStore();
    expect((await take(worker)).result?.served).toEqual([1]);
    const found = async (): Promise<boolean> => {
      const { sources } = (await worker.ask("consume", { key: "k", count: 1, options })) as {
        sources: { store?: number };
      };
      return sources.store === 1;
    };
    await eventually(found, { withinMs: 3000, everyMs: 50 });
  });

  it("fails what is under way when it stops, and may serve again with new buckets", async () => {
    const worker = await forkOne();
    server = serveClusterStore();
    expect((await take(worker)).result?.served).toEqual([1]);
    await server.close();
    await server.close();
    expect((await take(worker)).error?.code).toBe("ERR_SPILLWAY_STORE_UNAVAILABLE");
    server = serveClusterStore();
    expect(left(await take(worker))).toBe(99);
  });

  it("makes a process that is no worker say so at once", () => {
    expect(() => clusterStore()).toThrow(expect.objectContaining({ code: "ERR_SPILLWAY_INVALID_OPTION" }));
    expect(() => clusterStore()).toThrow(/neither/);
    server = serveClusterStore();
    expect(() => serveClusterStore()).toThrow(/serves this process already/);
    expect(() => clusterStore({ handshakeMs: 0 })).toThrow(/handshakeMs/);
    expect(() => clusterStore({ maxCallsInFlight: 1.5 })).toThrow(/maxCallsInFlight/);
    expect(() => clusterStore({ retries: 1 } as object)).toThrow(/options\.retries/);
  });

  it("closes what its own clusterStore stood on", async () => {
    server = serveClusterStore();
    const store = clusterStore();
    await store.peek([{ key: "k", policy: POLICY }]);
    await server.close();
    await expect(store.peek([{ key: "k", policy: POLICY }])).rejects.toMatchObject({ code: "ERR_SPILLWAY_CLOSED" });
  });
});

describe("processes that end", () => {
  it("a worker that dies with calls under way disturbs nobody; what it took stays taken", async () => {
    server = serveClusterStore();
    const [dying, other] = [await forkOne(), await forkOne()];
    const questions = Array.from({ length: 40 }, () => take(dying).catch((error: Error) => error.message));
    await new Promise((resolve) => dying.worker.send({ to: "nobody" }, resolve));
    block(300);
    dying.worker.process.kill("SIGKILL");
    expect(await dying.exited).toBe("SIGKILL");
    expect(await Promise.all(questions)).toEqual(Array.from({ length: 40 }, () => "the worker ended: SIGKILL"));
    expect(left(await take(other))).toBe(59);
  });

  it("a worker that leaves the cluster fails its calls at once", async () => {
    server = serveClusterStore();
    const worker = await forkOne();
    await take(worker);
    const last = worker.ask("callDisconnected", { name: "store", method: "take", args: TAKE_ONE });
    last.catch(() => {});
    block(50);
    expect(await withDeadline(worker.exited, 5000, "the worker to end")).toBe(7);
  });

  it("a worker that lets go of its channel ends by itself, with a store and a limiter that nobody closed", async () => {
    server = serveClusterStore();
    const worker = await forkOne();
    await worker.ask("consume", { key: "k", count: 3 });
    await worker.ask("letGo");
    expect(await withDeadline(worker.exited, 1500, "the worker to end by itself")).toBe(0);
  });

  it("a primary without workers ends by itself while it serves", async () => {
    const primary = spawn(process.execPath, [PRIMARY, "0"], { stdio: "inherit" });
    expect(await withDeadline(once(primary, "exit"), 5000, "the primary to end by itself")).toEqual([0, null]);
  });

  it("workers end with their primary", async () => {
    const primary = spawn(process.execPath, [PRIMARY, "2"], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    primary.stdout.setEncoding("utf8").on("data", (chunk) => {
      output += chunk;
    });
    await eventually(() => output.split("\n").length === 3, { withinMs: 10_000 });
    primary.kill("SIGKILL");
    const pids = output.trim().split("\n").map(Number);
    const gone = (): boolean => !pids.some(isRunning);
    await eventually(gone, { withinMs: 5000 });
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("the channel", () => {
  it("carries no more calls at a time than it is told; the others fail at once", async () => {
    server = serveClusterStore();
    const worker = await forkOne();
    await worker.ask("open", { name: "narrow", options: { maxCallsInFlight: 5 } });
    await worker.ask("call", { name: "narrow", method: "take", args: TAKE_ONE });
    const many = worker.ask("callManyTimes", { times: 8, name: "narrow", method: "take", args: TAKE_ONE });
    await new Promise((resolve) => worker.worker.send({ to: "nobody" }, resolve));
    block(200);
    const outcomes = (await many) as Outcome[];
    expect(outcomes.filter(({ result }) => result !== undefined)).toHaveLength(5);
    const refused = outcomes.filter(({ error }) => error?.code === "ERR_SPILLWAY_STORE_UNAVAILABLE");
    expect(refused).toHaveLength(3);
    for (const { ms } of refused) expect(ms).toBeLessThan(100);
    expect((await take(worker)).result?.served).toEqual([1]);
  });

  it("is shared with others, whose messages pass untouched in both directions", async () => {
    server = serveClusterStore();
    const worker = await forkOne();
    const foreign = [
      "text",
      { spillway: 2, id: 1, method: "take", args: TAKE_ONE },
      { spillway: 1, method: "take" },
      { id: 1, method: "take", args: [] },
      { spillway: 1, id: "1", method: "take" },
    ];
    await worker.ask("foreign");
    await worker.ask("sendRaw", { messages: foreign });
    for (const message of foreign) worker.worker.send(message as object);
    expect((await take(worker)).result?.served).toEqual([1]);
    const isReply = (message: { spillway?: number; result?: unknown }): boolean =>
      message.spillway === 1 && "result" in message;
    const heardThere = ((await worker.ask("foreign")) as (typeof foreign)[number][]).filter(
      (message) => typeof message === "string" || !isReply(message as object),
    );
    expect(heardThere).toEqual(foreign);
    expect(worker.heard).toEqual(expect.arrayContaining(foreign));
  });

  it("refuses a call that it cannot read, and changes nothing", async () => {
    server = serveClusterStore();
    const worker = await forkOne();
    const hollow = { ...POLICY, shape: { ...POLICY.shape, burst: Number.NaN } };
    const args = [{ ...TAKE_ONE[0], buckets: [{ key: "k", policy: hollow, report: undefined }] }];
    const { error } = (await worker.ask("call", { name: "store", method: "take", args })) as Outcome;
    expect(error?.code).toBe("ERR_SPILLWAY_STORE_REPLY");
    expect(left(await take(worker))).toBe(99);
  });
});

describe("a limiter without a store in a worker", () => {
  it("is warned about once", async () => {
    const [worker] = await fork(1);
    const warnings = (await worker?.ask("warnTwice")) as object[];
    expect(warnings).toEqual([
      { name: "SpillwayWarning", message: expect.stringMatching(/clusterStore\(\) or redisStore\(client\)/) },
    ]);
  });
});

describe("through a real worker", () => {
  let relay: AskableWorker;
  let stores = 0;
  beforeAll(async () => {
    relay = await forkWorker("advanced"); // So that a question may hold `undefined`.
  });
  afterAll(async () => {
    relay?.worker.process.kill("SIGKILL");
    await relay?.exited;
  });

  async function open(): Promise<StoreUnderTest> {
    const clock = manualClock();
    const contractServer = serveClusterStore({ clock });
    const name = `store ${++stores}`;
    await relay.ask("open", { name });
    return {
      store: relayStore(relay, name),
      advance: (ms) => clock.advance(ms),
      async close() {
        await relay.ask("call", { name, method: "close", args: [] });
        await contractServer.close();
      },
    };
  }

  storeContract(
    { describe, it },
    {
      name: "clusterStore",
      open,
      skips: {
        "take-now": "the buckets are in another process",
        "foreign-values": "nobody else can write to the primary's memory",
      },
    },
  );

  it("leaves no listener behind when its stores are closed", async () => {
    const [messages, disconnects] = (await relay.ask("listeners")) as [number, number];
    const subject = await open();
    expect(await relay.ask("listeners")).toEqual([messages + 1, disconnects + 1]);
    await subject.close();
    expect(await relay.ask("listeners")).toEqual([messages, disconnects]);
  });
});

/** A store of a worker, as if it were here. */
function relayStore(relay: AskableWorker, name: string): Store {
  const call = async (method: string, ...args: unknown[]): Promise<unknown> => {
    const { result, error } = (await relay.ask("call", { name, method, args })) as Outcome;
    if (error !== undefined) throw Object.assign(new Error(error.message), { name: "SpillwayError", code: error.code });
    return result;
  };
  const store: Record<string, unknown> = { name: "cluster" };
  for (const method of ["take", "peek", "adjust", "block", "reset", "allotShares", "close"])
    store[method] = (...args: unknown[]) => call(method, ...args);
  return store as unknown as Store;
}
