import type { FastifyRequest } from "fastify";
import { setupWarning, type WarningListener } from "./setup-warning.ts";

/** After so many requests with one key it is taken for a fault, where they came from more than one address. */
const SAME_KEY_REQUESTS = 200;
/** After so many requests nobody looks any more. */
const MOST_LOOKED_AT = 10_000;

/** Looks at the first requests of a registration for signs that callers are not told apart. Says each thing once. */
export class TrafficChecks {
  readonly #warn: WarningListener;
  /** Requests still to be looked at for a proxy: to read headers costs a request that nobody else does it for. */
  #proxyLooks = MOST_LOOKED_AT;
  #looksAtKeys: boolean;
  #seen = 0;
  #key: string | undefined;
  #address: string | undefined;
  #severalAddresses = false;

  /** @param ownKeys whether keys come from a function of the user. */
  constructor(warn: WarningListener, ownKeys: boolean) {
    this.#warn = warn;
    this.#looksAtKeys = ownKeys;
  }

  /** Whether there is still anything to find. Read at each request. */
  get isLooking(): boolean {
    return this.#proxyLooks > 0 || this.#looksAtKeys;
  }

  /** Notes what a request was counted under. */
  note(request: FastifyRequest, key: string): void {
    if (this.#proxyLooks > 0) this.#lookForProxy(request, key);
    if (this.#looksAtKeys) this.#lookAtKey(request, key);
  }

  #lookForProxy(request: FastifyRequest, key: string): void {
    this.#proxyLooks--;
    if (request.headers["x-forwarded-for"] === undefined) return;
    if (!key.startsWith("ip:") || key.startsWith("ip:key:") || request.ip !== request.socket.remoteAddress) return;
    this.#proxyLooks = 0;
    const message = "A request with X-Forwarded-For is limited by the address of its connection.";
    this.#warn(setupWarning("SPILLWAY_WARN_TRUST_PROXY", message));
  }

  #lookAtKey({ ip }: FastifyRequest, key: string): void {
    this.#key ??= key;
    this.#address ??= ip;
    this.#seen++;
    if (ip !== this.#address) this.#severalAddresses = true;
    if (key !== this.#key || this.#seen > MOST_LOOKED_AT) this.#looksAtKeys = false;
    else if (this.#severalAddresses && this.#seen >= SAME_KEY_REQUESTS) {
      this.#looksAtKeys = false;
      const message = `Option key gave one and the same key for the first ${this.#seen} requests, which came from several addresses.`;
      this.#warn(setupWarning("SPILLWAY_WARN_SAME_KEY", message));
    }
  }
}
