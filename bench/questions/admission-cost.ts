// What does admission add to a piece of work that it lets in, and what does it cost to turn one away?
import { type Admission, createAdmission } from "@spillway/admission";
import type { Contestant, Heat, Question, Sample } from "../harness/question.ts";
import { inSlices } from "../harness/slices.ts";

const SLICE = 1000;
const IN_FLIGHT = 64;
const WORK_MS = 100;
/** The places of a line of 200 ms for eight slots and work of 100 ms. */
const PLACES = 16;

const BARE = "bare loop";
const BARE_TOGETHER = "bare loop, 64 in flight";

export const admissionCost: Question = {
  name: "admission-cost",
  asks: "what a request costs that is let in, and one that is turned away",
  heats: () => [oneByOne, together],
};

async function oneByOne(): Promise<Heat> {
  const unit = { unit: "CPU ns/request", better: "less", value: cpuNsEach, peers: [BARE] } as const;
  return {
    contestants: [bare(), admitted(), refused(), refusedForNewcomer()],
    cases: [
      { name: "admission-cost/admit", ...unit, ours: "spillway acquireNow", marks: [{ peer: BARE, atMost: 5 }] },
      { name: "admission-cost/reject", ...unit, ours: "spillway full line", marks: [{ peer: BARE, atMost: 3 }] },
      { name: "admission-cost/give-up-the-oldest", ...unit, ours: "spillway newest first" },
    ],
  };
}

/** With the turn of the event loop that `run` takes before it works. */
async function together(): Promise<Heat> {
  const unit = { unit: "CPU ns/request", better: "less", value: cpuNsEach } as const;
  return {
    contestants: [bareTogether(), runTogether()],
    cases: [{ name: "admission-cost/run", ...unit, ours: "spillway run", peers: [BARE_TOGETHER] }],
  };
}

/** Nothing here waits, so that CPU time is all the time, and less restless on a machine that is shared. */
function cpuNsEach({ operations, cpuMs }: Sample): number {
  return (cpuMs * 1e6) / operations;
}

const work = async (): Promise<number> => 1;

function bare(): Contestant {
  return {
    name: BARE,
    check: async () => undefined,
    run: ({ ms }) =>
      inSlices(ms, async () => {
        for (let i = 0; i < SLICE; i++) await work();
        return SLICE;
      }),
  };
}

function admitted(): Contestant {
  const admission = createAdmission();
  return {
    name: "spillway acquireNow",
    check: async () => {
      const permits = Array.from({ length: 9 }, () => admission.acquireNow());
      for (const permit of permits) if (permit?.admitted) permit.release();
      const count = permits.filter((permit) => permit?.admitted).length;
      return count === 8 ? undefined : `it let in ${count} with 8 slots`;
    },
    run: ({ ms }) =>
      inSlices(ms, async () => {
        for (let i = 0; i < SLICE; i++) {
          const permit = admission.acquireNow();
          if (!permit?.admitted) return undefined;
          try {
            await work();
          } finally {
            permit.release();
          }
        }
        return SLICE;
      }),
  };
}

/** A controller whose slots and line are full, and stay so. */
function full(order: "fifo" | "lifo"): Admission {
  const admission = createAdmission({ slots: 8, guessMs: WORK_MS, waitMs: Number.POSITIVE_INFINITY, order });
  for (let i = 0; i < 8; i++) admission.acquireNow();
  for (let i = 0; i < PLACES; i++) admission.enter(() => {});
  return admission;
}

function refused(): Contestant {
  const admission = full("fifo");
  const isRefused = (): boolean => admission.acquireNow()?.admitted === false;
  return {
    name: "spillway full line",
    check: async () => (isRefused() && admission.stats().waiting === PLACES ? undefined : "it let one in that is full"),
    run: ({ ms }) =>
      inSlices(ms, () => {
        for (let i = 0; i < SLICE; i++) if (!isRefused()) return undefined;
        return SLICE;
      }),
  };
}

function refusedForNewcomer(): Contestant {
  const admission = full("lifo");
  let given = 0;
  const enter = () => admission.enter(() => given++);
  return {
    name: "spillway newest first",
    check: async () => {
      for (let i = 0; i <= PLACES; i++) enter();
      return given === 1 && admission.stats().waiting === PLACES ? undefined : "it did not give up the oldest";
    },
    run: ({ ms }) =>
      inSlices(ms, () => {
        const before = given;
        for (let i = 0; i < SLICE; i++) enter();
        return given - before === SLICE ? SLICE : undefined;
      }),
  };
}

function bareTogether(): Contestant {
  return {
    name: BARE_TOGETHER,
    check: async () => undefined,
    run: ({ ms }) => inSlices(ms, () => inFlight(async () => void (await work()))),
  };
}

function runTogether(): Contestant {
  const admission = createAdmission({ lineMs: Number.POSITIVE_INFINITY, waitMs: Number.POSITIVE_INFINITY });
  return {
    name: "spillway run",
    check: async () => undefined,
    run: ({ ms }) => inSlices(ms, () => inFlight(async () => void (await admission.run(work)))),
  };
}

async function inFlight(call: () => Promise<void>): Promise<number> {
  const each = Math.ceil(SLICE / IN_FLIGHT);
  const caller = async (): Promise<void> => {
    for (let i = 0; i < each; i++) await call();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller));
  return each * IN_FLIGHT;
}
