import type { LimitedRequest } from "./limited-exchange.ts";

/**
 * Makes the function that finds a caller's address: Express's own view of it (`trust proxy`), else the other end of the
 * connection. Forwarded headers are never read. Says once, through `warn`, when all or none of them are believed in a way
 * that lets callers share a bucket, or choose one.
 */
export function createPeerAddress(warn: (message: string) => void): (request: LimitedRequest) => string | undefined {
  let asksSettings = true;
  let looksForProxies = true;
  return (request) => {
    const peer = request.socket?.remoteAddress;
    const address = request.ip ?? peer;
    if (asksSettings) {
      asksSettings = false;
      if (trustsEverybody(request.app)) warn(TRUSTS_EVERYBODY);
    }
    if (looksForProxies && address === peer && request.headers["x-forwarded-for"] !== undefined) {
      looksForProxies = false;
      warn(PROXY_IS_CALLER);
    }
    return address;
  };
}

const TRUSTS_EVERYBODY =
  "Express has `trust proxy` set to true, so a caller can choose its rate limit bucket with a forged X-Forwarded-For. " +
  "Set it to the number or the addresses of your proxies.";

const PROXY_IS_CALLER =
  "A request with X-Forwarded-For is limited by the address of its connection. If that is your proxy, all callers behind it " +
  "share one rate limit: set `trust proxy` in Express, or give the option key. If you have no proxy, the header was forged.";

function trustsEverybody(app: unknown): boolean {
  const settings = app as { readonly get?: (name: string) => unknown } | undefined;
  return typeof settings?.get === "function" && settings.get("trust proxy") === true;
}
