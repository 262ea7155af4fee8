import type { BucketAddress, Store } from "../stores/store.ts";
import { adjustCases } from "./contract/adjust-cases.ts";
import { askCases } from "./contract/ask-cases.ts";
import { blockCases } from "./contract/block-cases.ts";
import { bucketCases } from "./contract/bucket-cases.ts";
import type { ContractCase } from "./contract/contract-case.ts";
import { faultCases } from "./contract/fault-cases.ts";
import { leaseCases } from "./contract/lease-cases.ts";
import { shareCases } from "./contract/share-cases.ts";
import { windowCases } from "./contract/window-cases.ts";
import { windowLeaseCases } from "./contract/window-lease-cases.ts";

/** What not every store can do. */
export type ContractCapability = "foreign-values" | "take-now";

/** A store to test, with what only its maker can do to it. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Lets at least `ms` pass on the store's clock: waits, or moves a test clock. */
  advance(ms: number): Promise<void> | void;
  /** Puts something where a bucket lives that the store did not write. Left out: name `"foreign-values"` in `skips`. */
  putForeignValue?(address: BucketAddress): Promise<void>;
  /** Runs after each test: looks for what must not be left behind, closes the store, and frees what `open` made. */
  close(): Promise<void>;
}

export interface StoreContractOptions {
  /** Opens the title of the suite. */
  readonly name: string;
  /** A store for one test. Tests use keys of their own, so all may share one server. */
  open(): Promise<StoreUnderTest> | StoreUnderTest;
  /** What this store cannot do, and why. The reason becomes part of the skipped test's title and is printed. */
  readonly skips?: Readonly<Partial<Record<ContractCapability, string>>>;
}

type DefineTest = (title: string, body: () => Promise<void>) => unknown;

/** The part of a test runner that the suite needs: vitest, `node:test`, Mocha and Jest have it. */
export interface ContractRunner {
  describe(title: string, body: () => void): unknown;
  readonly it: DefineTest & { readonly skip: DefineTest };
}

/**
 * Defines the tests that every {@link Store} must pass. They fail with `AssertionError`s of `node:assert`.
 *
 * ```ts
 * import { describe, it } from "vitest";
 * storeContract({ describe, it }, { name: "my store", open, skips: { "take-now": "it is on another machine" } });
 * ```
 */
export function storeContract({ describe, it }: ContractRunner, options: StoreContractOptions): void {
  const groups: Readonly<Record<string, readonly ContractCase[]>> = {
    buckets: bucketCases,
    asks: askCases,
    windows: windowCases,
    "refunds, penalties and resets": adjustCases,
    blocks: blockCases,
    leases: leaseCases,
    "leases of windows": windowLeaseCases,
    shares: shareCases,
    faults: faultCases,
  };
  describe(`store contract of ${options.name}`, () => {
    for (const [group, cases] of Object.entries(groups)) {
      describe(group, () => {
        for (const contractCase of cases) define(it, contractCase, options);
      });
    }
  });
}

function define(it: ContractRunner["it"], { title, needs, run }: ContractCase, options: StoreContractOptions): void {
  const reason = needs === undefined ? undefined : options.skips?.[needs];
  if (reason === undefined) it(title, () => runOn(options, run));
  else {
    process.stdout.write(`store contract of ${options.name}: skipped "${title}", since ${reason}\n`);
    it.skip(`${title} (skipped, since ${reason})`, async () => {});
  }
}

async function runOn({ open }: StoreContractOptions, run: ContractCase["run"]): Promise<void> {
  const subject = await open();
  try {
    await run(subject);
  } finally {
    await subject.close();
  }
}
