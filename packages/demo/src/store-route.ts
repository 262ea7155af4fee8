import { startFaultProxy } from "@spillway/testkit";
import type { Outage } from "./modes.ts";

/** The way from the servers to the store in one mode. */
export interface StoreRoute {
  readonly url: string;
  /** Told when a run of so many seconds begins. @returns told when it is over. */
  begin(seconds: number): () => Promise<void>;
  /** Closes the way or opens it again, at any time. Left out where it cannot be closed. */
  setReachable?(reachable: boolean): Promise<void>;
  close(): Promise<void>;
}

/** The way that nothing stands in. */
export function directRoute(url: string): StoreRoute {
  return { url, begin: () => async () => {}, close: async () => {} };
}

/** The part of a fault proxy that an outage needs. */
export interface Cuttable {
  readonly url: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  stop(): Promise<void>;
}

/** A way through a proxy of the demo's own, which is closed for a part of each run. The server itself notices nothing. */
export async function openBreakableRoute(storeUrl: string, outage: Outage): Promise<StoreRoute> {
  const { protocol, hostname, port } = new URL(storeUrl);
  if (protocol !== "redis:") throw new Error("An outage cannot be made on an encrypted connection to Redis.");
  return breakableRoute(
    await startFaultProxy({ targetHost: hostname, targetPort: Number(port || 6379) }),
    storeUrl,
    outage,
  );
}

/** The same with a given proxy. Credentials and database of the store's address hold behind it too. */
export function breakableRoute(proxy: Cuttable, storeUrl: string, outage: Outage): StoreRoute {
  const url = new URL(storeUrl);
  const { hostname, port } = new URL(proxy.url);
  url.hostname = hostname;
  url.port = port;
  let change = Promise.resolve();
  // One after another, whatever the timers do: a cut that ends after the mending would last.
  const then = (step: () => Promise<void>): void => {
    change = change.then(step);
    change.catch(() => {});
  };
  return {
    url: url.href,
    begin(seconds) {
      const timers = [
        setTimeout(() => then(() => proxy.cut()), outage.from * seconds * 1000),
        setTimeout(() => then(() => proxy.mend()), outage.to * seconds * 1000),
      ];
      return async () => {
        for (const timer of timers) clearTimeout(timer);
        then(() => proxy.mend());
        await change;
      };
    },
    async setReachable(reachable) {
      then(() => (reachable ? proxy.mend() : proxy.cut()));
      await change;
    },
    close: () => proxy.stop(),
  };
}
