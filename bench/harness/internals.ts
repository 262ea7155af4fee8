import type { PolicyOptions, Store } from "spillway";

export type TakeCall = Parameters<Store["take"]>[0];
export type TakeReply = Awaited<ReturnType<Store["take"]>>;
export type TakeBucket = TakeCall["buckets"][number];
export type Policy = TakeBucket["policy"];

/** What the questions need from behind Spillway's face: the script as it is sent, and what writes and reads its calls. */
export interface Internals {
  readonly take: { readonly text: string; readonly sha1: string };
  bucketKey(prefix: string, address: Pick<TakeBucket, "key" | "policy">): string;
  encodeTake(call: TakeCall): string[];
  decodeTake(reply: unknown, call: TakeCall, keys: readonly string[]): TakeReply;
  resolvePolicy(options: PolicyOptions, at: string): Policy;
}

const MODULES = [
  "stores/redis/scripts/generated.js",
  "stores/redis/key-layout.js",
  "stores/redis/take-encoding.js",
  "stores/redis/reply-decoding.js",
  "policy.js",
];
const NAMES: readonly (keyof Internals)[] = ["take", "bucketKey", "encodeTake", "decodeTake", "resolvePolicy"];

/** Looks next to the package's entry, since no public name leads there. @throws Error when something has moved. */
export async function loadInternals(): Promise<Internals> {
  const entry = import.meta.resolve("spillway");
  const modules: object[] = await Promise.all(MODULES.map((path) => import(new URL(path, entry).href)));
  const found: Partial<Internals> = Object.assign({}, ...modules);
  const missing = NAMES.filter((name) => found[name] === undefined);
  if (missing.length > 0)
    throw new Error(`Spillway no longer has ${missing.join(", ")} where harness/internals.ts looks.`);
  return found as Internals;
}
