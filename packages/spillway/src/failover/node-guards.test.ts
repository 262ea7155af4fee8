import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SpillwayError } from "../errors.ts";
import type { StateChange } from "../health.ts";
import { type Policy, resolvePolicy } from "../policy.ts";
import { memoryStore } from "../stores/memory-store.ts";
import type { Store, TakeReply } from "../stores/store.ts";
import { type ManualClock, manualClock } from "../testing/manual-clock.ts";
import { type Absence, NodeGuards } from "./node-guards.ts";

const DEADLINE_MS = 50;
const POLICY: Policy = resolvePolicy({ name: "p", limit: 10, period: "1s" }, "policy");
const REPLY: TakeReply = { nowUs: 1, buckets: [], served: [1] };
const REFUSED = new SpillwayError("ERR_SPILLWAY_STORE_UNAVAILABLE", "connect ECONNREFUSED");

/** A store of two nodes: keys "a…" live on one, keys "b…" on the other, and each node answers as the test says. */
class TwoNodes {
  readonly clock: ManualClock = manualClock();
  readonly changes: StateChange[] = [];
  readonly answers: Record<string, () => Promise<TakeReply>> = {};
  readonly nodes: Record<number, string> = { 0: "a:1", 1: "b:2" };
  readonly guards: NodeGuards;
  readonly returns: unknown[][] = [];
  calls = 0;

  constructor(onStateChange: (change: StateChange) => void = (change) => this.changes.push(change)) {
    const groupOf = (key: string): number => (key.startsWith("a") ? 0 : 1);
    const store: Store = Object.assign(memoryStore({ clock: this.clock }), {
      name: "two nodes",
      groupOf,
      nodeOf: (group: number) => this.nodes[group] as string,
      take: ({ buckets }: Parameters<Store["take"]>[0]) => {
        this.calls++;
        return this.#answerOf(this.nodes[groupOf((buckets[0] as { key: string }).key)] as string);
      },
    });
    this.guards = new NodeGuards(store, this.clock, DEADLINE_MS, {
      onStateChange,
      onSent() {},
      onAnswering: (...news) => this.returns.push(["answering", ...news]),
      onGone: (...news) => this.returns.push(["gone", ...news]),
      onStillAway: () => {},
    });
  }

  #answerOf(node: string): Promise<TakeReply> {
    return this.answers[node]?.() ?? Promise.resolve(REPLY);
  }

  async ask(key: string, ms = 0): Promise<void> {
    const guard = this.guards.guardOf(this.guards.groupOf(key));
    const call = { buckets: [{ key, policy: POLICY, report: undefined }], runs: [] };
    guard.send([{ call, onReply() {}, onMiss() {}, onLate() {}, onFault() {} }], this.clock.monotonicMs());
    await this.pass(ms);
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.clock.advance(Math.min(5, ms - passed));
      await turn();
    }
    await turn();
  }

  isOpen(key: string): boolean {
    return this.guards.guardOf(this.guards.groupOf(key)).isOpen;
  }
}

const refuse = (): Promise<TakeReply> => Promise.reject(REFUSED);
const silent = (): Promise<TakeReply> => new Promise(() => {});

function throwOf(thrown: unknown): never {
  throw thrown;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the nodes of a store", () => {
  it("fail and return each by itself, with one change each way", async () => {
    const world = new TwoNodes();
    world.answers["a:1"] = refuse;
    await world.ask("a");
    await world.ask("b");
    expect([world.isOpen("a"), world.isOpen("b")]).toEqual([true, false]);
    await world.pass(3000);
    expect(world.guards.health()).toMatchObject({
      degraded: true,
      nodes: [
        { node: "a:1", state: "away", reason: "connect ECONNREFUSED", sinceMs: 0 },
        { node: "b:2", state: "ready", reason: undefined, sinceMs: undefined },
      ],
    });
    delete world.answers["a:1"];
    await world.pass(1300);
    expect(world.guards.health().nodes[0]).toMatchObject({ state: "trying" });
    await world.ask("a");
    expect(world.guards.health()).toMatchObject({ degraded: false, nodes: [{ state: "ready" }, { state: "ready" }] });
    expect(world.changes).toEqual([
      {
        store: "two nodes",
        node: "a:1",
        state: "away",
        reason: "connect ECONNREFUSED",
        message:
          "The store two nodes at a:1 cannot decide (connect ECONNREFUSED); this process decides without it until it is back.",
      },
      {
        store: "two nodes",
        node: "a:1",
        state: "back",
        reason: "it answers again",
        message: "The store two nodes at a:1 decides again.",
      },
    ]);
  });

  it("are forgotten when their keys have moved to another one while they were away", async () => {
    const world = new TwoNodes();
    world.answers["a:1"] = refuse;
    await world.ask("a");
    world.nodes[0] = "b:2";
    expect(world.isOpen("a")).toBe(false);
    await world.pass(200);
    expect(world.guards.health()).toMatchObject({ degraded: false });
    expect(world.changes.map(({ node, state, message }) => [node, state, message])).toEqual([
      ["a:1", "away", expect.any(String)],
      ["a:1", "back", "The store two nodes at a:1 is not asked any more: its keys have moved to another node."],
    ]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it("are found out only once somebody answers: what was unknown is forgotten as well", async () => {
    const world = new TwoNodes();
    world.nodes[0] = "";
    world.answers[""] = refuse;
    await world.ask("a");
    expect(world.changes.map(({ message }) => message)).toEqual([
      "The store two nodes cannot decide (connect ECONNREFUSED); this process decides without it until it is back.",
    ]);
    world.nodes[0] = "a:1";
    await world.pass(200);
    expect(world.changes.at(-1)).toMatchObject({
      node: "",
      state: "back",
      message: "The store two nodes decides again.",
    });
    expect(world.guards.health()).toMatchObject({ degraded: false, nodes: [] });
  });
});

describe("a node that comes back", () => {
  it("is told of when it first answers a probe, with how long it was away and may have been back", async () => {
    const world = new TwoNodes();
    await world.ask("b", 40);
    world.answers["a:1"] = refuse;
    await world.ask("a", 60);
    expect(world.returns).toEqual([["gone", "a:1", false]]);
    expect([world.guards.isAnswering, world.guards.nodeOf("abc"), world.guards.nodeOf("b")]).toEqual([
      false,
      "a:1",
      "b:2",
    ]);
    delete world.answers["a:1"];
    await world.pass(200);
    const [, answering] = world.returns as [unknown, [string, string, Absence]];
    expect(answering.slice(0, 2)).toEqual(["answering", "a:1"]);
    const { awaySinceMs, unnoticedMs, silentMs } = answering[2];
    expect([awaySinceMs, silentMs]).toEqual([40, Number.POSITIVE_INFINITY]);
    expect(unnoticedMs).toBeGreaterThan(0);
    expect(unnoticedMs).toBeLessThanOrEqual(2 * 62.5);
    expect(world.guards.isAnswering).toBe(true);
    await world.ask("a");
    expect([world.guards.isAnswering, world.returns.length]).toEqual([true, 2]);
  });

  it("is told of again when its trial fails", async () => {
    const world = new TwoNodes();
    world.answers["a:1"] = refuse;
    await world.ask("a");
    delete world.answers["a:1"];
    await world.pass(200);
    world.answers["a:1"] = refuse;
    await world.ask("a");
    expect(world.returns.map(([what]) => what)).toEqual(["gone", "answering", "gone"]);
  });

  it("is gone for good when its keys have moved", async () => {
    const world = new TwoNodes();
    world.answers["a:1"] = refuse;
    await world.ask("a");
    world.nodes[0] = "c:3";
    await world.pass(200);
    expect(world.returns).toEqual([
      ["gone", "a:1", false],
      ["gone", "a:1", true],
    ]);
  });
});

describe("the health view", () => {
  it("leaves nodes out that were well when their keys moved: nothing is asked of them", async () => {
    const world = new TwoNodes();
    await world.ask("a");
    await world.ask("b");
    world.nodes[0] = "b:2";
    expect(world.guards.health().nodes.map(({ node }) => node)).toEqual(["b:2"]);
    world.nodes[0] = "a:1";
    expect(world.guards.health().nodes.map(({ node }) => node)).toEqual(["a:1", "b:2"]);
  });

  it("warns when the deadline is not twice the round trip, and only then", async () => {
    const world = new TwoNodes();
    const answerAfter = (ms: number) => (): Promise<TakeReply> =>
      new Promise((resolve) => world.clock.startTimer(() => resolve(REPLY), ms, false));
    world.answers["a:1"] = answerAfter(DEADLINE_MS / 2);
    await world.ask("a", 60);
    expect(world.guards.health().warnings).toEqual([]);
    world.answers["a:1"] = answerAfter(DEADLINE_MS / 2 + 10);
    await world.ask("a", 60);
    expect(world.guards.health().warnings).toEqual([
      "Round trips to The store two nodes at a:1 take up to 35.0 ms: the deadline of 50 ms should be at least twice that, " +
        "or calls that only take long count as missed.",
    ]);
  });

  it("counts calls, misses and faults", async () => {
    const world = new TwoNodes();
    await world.ask("a");
    world.answers["a:1"] = silent;
    await world.ask("a", DEADLINE_MS);
    world.answers["b:2"] = () => Promise.reject(new Error("ERR"));
    await world.ask("b");
    world.guards.noteFault(REFUSED);
    expect(world.guards.counts).toEqual({ calls: 3, misses: 1, faults: 2 });
  });
});

describe("a change", () => {
  it("and each fault are told on the diagnostics channels", async () => {
    const told: unknown[] = [];
    const listen = (message: unknown): void => void told.push(message);
    const channels = ["spillway:state", "spillway:store-error"];
    for (const name of channels) subscribe(name, listen);
    const world = new TwoNodes();
    world.answers["a:1"] = refuse;
    await world.ask("a");
    for (const name of channels) unsubscribe(name, listen);
    expect(told).toEqual([REFUSED, world.changes[0]]);
  });

  it.each<[string, () => unknown, string]>([
    ["throws", () => throwOf(new Error("mine")), "threw: Error: mine"],
    ["throws what has no text", () => throwOf(Object.create(null)), "threw: an object of no class"],
    ["rejects later", async () => throwOf(new Error("mine")), "rejected: Error: mine"],
    ["rejects with what has no text", () => Promise.reject(Object.create(null)), "rejected: an object of no class"],
  ])("whose listener %s reaches nobody else, and is said aloud", async (_how, listener, said) => {
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const world = new TwoNodes(listener);
    world.answers["a:1"] = refuse;
    await world.ask("a");
    expect(world.isOpen("a")).toBe(true);
    expect(warnings.mock.calls).toEqual([[`onStateChange ${said}`, "SpillwayWarning"]]);
  });
});

it("closing ends the probes of all nodes", async () => {
  const world = new TwoNodes();
  world.answers["a:1"] = refuse;
  world.answers["b:2"] = refuse;
  await world.ask("a");
  await world.ask("b");
  world.guards.close();
  const { calls } = world;
  await world.pass(3000);
  expect([world.clock.pendingTimers, world.calls]).toEqual([0, calls]);
});
