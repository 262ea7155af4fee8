import type { Ask } from "./ask.ts";
import type { Due } from "./due-heap.ts";
import type { Permit } from "./permit.ts";
import type { Shed } from "./shed.ts";

/** Takes the answer. It is called once, or never when the request has left. */
export type Answer = (answer: Permit | Shed) => void;

/**
 * Where a waiter stands. `"starting"`: it has its slots and begins once the event loop has read what has arrived.
 * `"waiting"`: it is in the line. `"answered"`: it is neither, and never will be again.
 */
export type WaiterState = "starting" | "waiting" | "answered";

/** Who answers a waiter. */
export interface WaiterOwner {
  leave(waiter: Waiter): void;
}

/** A place among those who have no answer yet. */
export interface Place {
  /** Goes away without an answer. Does nothing once there is one. */
  leave(): void;
}

/** The deadline of one in the line, by which the line finds who is hopeless. */
export interface Deadline extends Due {
  readonly waiter: Waiter;
}

/** A request that has no answer yet: a node of the line's list and of its heap of wait limits. */
export class Waiter implements Place {
  readonly ask: Ask;
  readonly answer: Answer;
  readonly arrivedMs: number;
  /** When it has waited for as long as it may; `Infinity` for never. */
  readonly dueMs: number;
  state: WaiterState = "starting";
  /** Neighbours in the line, by arrival. */
  older: Waiter | undefined = undefined;
  newer: Waiter | undefined = undefined;
  /** Its place in the heap, or -1. */
  heapIndex = -1;
  /** There while it is in the line and has one. */
  deadline: Deadline | undefined = undefined;
  /** Ends the watch on the signal; to be called with the answer, since a signal may live long after and must not keep the waiter. */
  stopWatching: (() => void) | undefined = undefined;
  readonly #owner: WaiterOwner;

  constructor(owner: WaiterOwner, ask: Ask, answer: Answer, arrivedMs: number, dueMs: number) {
    this.#owner = owner;
    this.ask = ask;
    this.answer = answer;
    this.arrivedMs = arrivedMs;
    this.dueMs = dueMs;
  }

  leave(): void {
    this.#owner.leave(this);
  }
}
