/** What a heap orders. */
export interface Due {
  readonly dueMs: number;
  /** Kept by the heap: where the node stands in it, or -1. */
  heapIndex: number;
}

/** Nodes by the instant at which they fall due; any of them can be taken out. */
export class DueHeap<T extends Due> {
  readonly #nodes: T[] = [];

  /** The node that falls due first. */
  get first(): T | undefined {
    return this.#nodes[0];
  }

  add(node: T): void {
    this.#rise(node, this.#nodes.length);
  }

  /** Does nothing for a node that is not in the heap. */
  remove(node: T): void {
    const index = node.heapIndex;
    if (index < 0) return;
    const last = this.#nodes.pop() as T;
    node.heapIndex = -1;
    if (last === node) return;
    const parent = this.#nodes[(index - 1) >> 1];
    if (index > 0 && last.dueMs < (parent as T).dueMs) this.#rise(last, index);
    else this.#sink(last, index);
  }

  #rise(node: T, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#nodes[parentIndex] as T;
      if (node.dueMs >= parent.dueMs) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(node, index);
  }

  #sink(node: T, from: number): void {
    const size = this.#nodes.length;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= size) break;
      const right = this.#nodes[childIndex + 1];
      if (right !== undefined && right.dueMs < (this.#nodes[childIndex] as T).dueMs) childIndex++;
      const child = this.#nodes[childIndex] as T;
      if (child.dueMs >= node.dueMs) break;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(node, index);
  }

  #put(node: T, index: number): void {
    this.#nodes[index] = node;
    node.heapIndex = index;
  }
}
