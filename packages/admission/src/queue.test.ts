import fc from "fast-check";
import { expect, it } from "vitest";
import { Queue } from "./queue.ts";

it("who came first leaves first, however arrivals and departures are mixed", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean()), (plan) => {
      const queue = new Queue<number>();
      const model: number[] = [];
      for (const [index, isArrival] of plan.entries()) {
        if (isArrival) {
          queue.add(index);
          model.push(index);
        } else expect(queue.take()).toBe(model.shift());
        expect(queue.isEmpty).toBe(model.length === 0);
      }
    }),
  );
});
