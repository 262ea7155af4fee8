import { memoryStore } from "spillway";
import { manualClock, storeContract } from "spillway/testing";
import { describe, it } from "vitest";

storeContract(
  { describe, it },
  {
    name: "memoryStore",
    open: () => {
      const clock = manualClock();
      const store = memoryStore({ clock });
      return { store, advance: (ms) => clock.advance(ms), close: () => store.close() };
    },
    skips: { "foreign-values": "nobody else can write to this process's memory" },
  },
);
