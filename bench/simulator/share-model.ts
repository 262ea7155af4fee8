import type { ShareModel } from "./network-store.ts";

/** The model of the script that allots shares; no public name leads there. */
export async function newShareModel(): Promise<ShareModel> {
  const path = new URL("stores/share-ledger.js", import.meta.resolve("spillway"));
  const { ShareLedger } = (await import(path.href)) as { ShareLedger: new () => { allot: ShareModel } };
  const ledger = new ShareLedger();
  return (beat, nowMs) => ledger.allot(beat, nowMs);
}
