import assert from "node:assert/strict";
import { WHOLE } from "../../stores/share-ledger.ts";
import type { Allotment, Beat, Store } from "../../stores/store.ts";
import { type ContractCase, newKey } from "./contract-case.ts";

/** Others may use the same ledger, so nobody is promised more than that the sum holds. */
const LIFE_MS = 10_000;

/** A process as the ledger knows it. */
class Process {
  readonly #store: Store;
  readonly #id = newKey();
  #number = 0;
  share = 0;
  even = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Says what it uses, and takes over what it is offered. */
  async speak(given: Partial<Beat> = {}): Promise<Allotment> {
    const allotment = await this.send(given);
    this.share = allotment.share;
    this.even = allotment.even;
    return allotment;
  }

  /** The same, but the answer is lost. */
  async send(given: Partial<Beat> = {}): Promise<Allotment> {
    this.#number = given.number ?? this.#number + 1;
    const { share, even } = this;
    const beat = { id: this.#id, number: this.#number, lifeMs: LIFE_MS, share, even, demand: 1000, replicas: 1 };
    const allotShares = this.#store.allotShares as Required<Store>["allotShares"];
    return await allotShares.call(this.#store, { ...beat, leaves: false, ...given });
  }

  async leave(): Promise<void> {
    await this.speak({ leaves: true });
  }
}

/** Two processes; a store that lives and dies with one process has nothing to share out. */
async function withTwo(store: Store, run: (a: Process, b: Process) => Promise<void>): Promise<void> {
  if (store.allotShares === undefined) return;
  const [a, b] = [new Process(store), new Process(store)];
  try {
    await run(a, b);
  } finally {
    await a.leave();
    await b.leave();
  }
}

/** What every store that allots shares at all must do. */
export const shareCases: readonly ContractCase[] = [
  {
    title: "processes that say that they are at work are counted, each once, until they leave",
    run: ({ store }) =>
      withTwo(store, async (a, b) => {
        const others = (await a.speak()).replicas - 1;
        assert.ok(others >= 0);
        assert.equal((await b.speak()).replicas, others + 2);
        assert.equal((await a.speak()).replicas, others + 2);
        assert.equal((await a.speak({ leaves: true })).replicas, others + 1);
        assert.equal((await b.speak()).replicas, others + 1);
      }),
  },
  {
    title: "shares never sum to more than the whole, and who says less sets the rest free",
    run: ({ store }) =>
      withTwo(store, async (a, b) => {
        for (let round = 0; round < 4; round++) {
          for (const process of [a, b]) {
            await process.speak();
            assert.ok(a.share + b.share <= WHOLE && a.even + b.even <= WHOLE);
          }
        }
        const { replicas } = await a.speak({ share: 0, demand: 0 });
        assert.equal(a.share, 0);
        const got = await b.speak();
        if (replicas === 2) assert.ok(got.share > 0.99 * WHOLE, `${got.share} where all is free`);
      }),
  },
  {
    title: "what was offered counts as used until a later beat says otherwise",
    run: ({ store }) =>
      withTwo(store, async (a, b) => {
        const offered = await a.send();
        await b.speak({ demand: 1e12 });
        assert.ok(offered.share + b.share <= WHOLE, "the answer to a may be lost or not");
        assert.ok(offered.even + b.even <= WHOLE);
        await a.send({ share: 0, even: 0, demand: 0 });
        await b.speak({ demand: 1e12 });
        assert.ok(b.share <= WHOLE);
      }),
  },
  {
    title: "a beat that comes twice, or late, is answered alike and changes nothing",
    run: ({ store }) =>
      withTwo(store, async (a, b) => {
        await a.speak();
        const once = await a.send({ number: 7 });
        const again = await a.send({ number: 7, share: 0, even: 0 });
        assert.deepEqual([again.share, again.even], [once.share, once.even]);
        await a.send({ number: 6, share: 0, even: 0 });
        await b.speak({ demand: 1e12 });
        assert.ok(once.share + b.share <= WHOLE);
      }),
  },
  {
    title: "a process that is not heard of for its life is forgotten",
    run: ({ store, advance }) =>
      withTwo(store, async (a, b) => {
        const others = (await a.speak({ lifeMs: 40 })).replicas - 1;
        assert.equal((await b.speak({ lifeMs: 40 })).replicas, others + 2);
        await advance(60);
        assert.equal((await b.speak({ lifeMs: 40 })).replicas, others + 1);
      }),
  },
];
