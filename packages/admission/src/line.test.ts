import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DueHeap } from "./due-heap.ts";
import { Line } from "./line.ts";
import { Waiter } from "./waiter.ts";

const owner = { leave: () => {} };

function waiter(dueMs: number, cost = 1, arrivedMs = 0, deadlineAtMs: number = Number.POSITIVE_INFINITY): Waiter {
  return new Waiter(owner, { cost, deadlineAtMs, signal: undefined, isRepeated: false }, () => {}, arrivedMs, dueMs);
}

describe("the line", () => {
  it("knows who came first and last, whoever leaves", () => {
    const line = new Line();
    const [a, b, c] = [waiter(3), waiter(2, 4), waiter(1)];
    for (const one of [a, b, c]) line.add(one);
    expect([line.oldest, line.newest, line.items, line.cost]).toEqual([a, c, 3, 6]);
    line.remove(b);
    line.remove(b);
    expect([line.oldest, line.newest, line.items, line.cost]).toEqual([a, c, 2, 2]);
    line.remove(a);
    expect([line.oldest, line.newest]).toEqual([c, c]);
    line.remove(c);
    expect([line.oldest, line.newest, line.items, line.cost, line.nextDueMs(0)]).toEqual([
      undefined,
      undefined,
      0,
      0,
      Infinity,
    ]);
  });

  it("gives out those whose time has come, the earliest first, and no others", () => {
    const line = new Line();
    const dues = [30, 10, Infinity, 20].map((dueMs) => waiter(dueMs));
    for (const one of dues) line.add(one);
    expect(line.nextDueMs(0)).toBe(10);
    expect(line.takeDue(9)).toBeUndefined();
    expect(line.takeDue(20)).toBe(dues[1]);
    expect(line.takeDue(20)).toBe(dues[3]);
    expect(line.takeDue(20)).toBeUndefined();
    expect(line.items).toBe(2);
  });

  it("gives out those who are hopeless by what work takes now, and no others", () => {
    const line = new Line();
    const [a, b, c] = [130, 120, Infinity].map((deadlineAtMs) => waiter(Infinity, 1, 0, deadlineAtMs));
    for (const one of [a, b, c]) line.add(one as Waiter);
    expect([line.nextDueMs(10), line.nextDueMs(50)]).toEqual([110, 70]);
    expect(line.takeHopeless(100, 10)).toBeUndefined();
    expect([line.takeHopeless(100, 30), line.takeHopeless(100, 30), line.takeHopeless(100, 30)]).toEqual([
      b,
      a,
      undefined,
    ]);
    expect([line.items, line.nextDueMs(30)]).toEqual([1, Infinity]);
  });

  it("gives out one that seems to come from the future", () => {
    const line = new Line();
    const one = waiter(1300, 1, 1000);
    line.add(one);
    expect(line.takeDue(0)).toBe(one);
    const other = waiter(Infinity, 1, 1000, 1300);
    line.add(other);
    expect(line.takeHopeless(0, 10)).toBe(other);
  });
});

describe("the heap", () => {
  interface Node {
    readonly dueMs: number;
    heapIndex: number;
  }

  it("gives out whoever is due first, whatever is added and removed", () => {
    const add = { weight: 3, arbitrary: fc.record({ add: fc.nat(1000) }) };
    const remove = { weight: 1, arbitrary: fc.record({ remove: fc.nat(100) }) };
    fc.assert(
      fc.property(fc.array(fc.oneof(add, remove), { minLength: 20, maxLength: 100 }), (plan) => {
        const heap = new DueHeap<Node>();
        const nodes: Node[] = [];
        for (const step of plan) {
          if ("add" in step) {
            const node = { dueMs: step.add, heapIndex: -1 };
            nodes.push(node);
            heap.add(node);
          } else {
            const [node] = nodes.splice(step.remove % Math.max(1, nodes.length), 1);
            if (node === undefined) continue;
            heap.remove(node);
            heap.remove(node);
          }
        }
        const given: number[] = [];
        for (let first = heap.first; first !== undefined; first = heap.first) {
          given.push(first.dueMs);
          heap.remove(first);
        }
        expect(given).toEqual(nodes.map(({ dueMs }) => dueMs).sort((a, b) => a - b));
      }),
      { numRuns: 200 },
    );
  });
});
