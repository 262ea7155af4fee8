import { invalidKey, show } from "./argument-error.ts";
import { type AddressGroupingOptions, createAddressGrouping } from "./client-address.ts";
import { dropRejection } from "./thenable.ts";

/** Names the caller of a request, at once. `undefined`, `null` and `""` mean "not known": the address counts then. */
export type CallerKeyFunction<Request> = (request: Request) => string | null | undefined;

export interface CallerKeyOptions<Request> {
  /** Left out: the address alone. */
  readonly key?: CallerKeyFunction<Request> | undefined;
  /** The address of the caller, by whatever the server trusts. */
  readonly addressOf: (request: Request) => string | undefined;
  readonly addresses?: AddressGroupingOptions | undefined;
}

const ADDRESS_KEYS = "ip:";
/** How many keys of addresses are remembered, and of addresses up to which length: a forwarded one can be anything. */
const MOST_KNOWN = 4096;
const LONGEST_KNOWN = 64;

/** The keys of addresses, for each way of grouping them: whoever groups alike shares what is remembered. */
const keysOfAddresses = new Map<number | undefined, (address: string) => string>();

/**
 * Makes the function that gives a request its limiter key. An address becomes `ip:` and its group. What `key` returns is used
 * as it is, but one that begins with `ip:` becomes `ip:key:` and the rest: nobody can spend another one's quota by naming
 * their address. The function throws a TypeError `ERR_SPILLWAY_INVALID_KEY` for any other return of `key`, a promise too, and
 * where there is neither key nor address: strangers never share a bucket.
 * @throws RangeError for an `ipv6Subnet` outside 1 to 128.
 */
export function createCallerKey<Request>(options: CallerKeyOptions<Request>): (request: Request) => string {
  const { key, addressOf } = options;
  const keyOfAddress = addressKeys(options.addresses);
  const addressKey = (request: Request): string => {
    const address = addressOf(request);
    if (address) return keyOfAddress(address);
    throw invalidKey("The request has no address, as on a Unix socket: give a key for every request.");
  };
  if (key === undefined) return addressKey;
  return (request) => {
    const given: unknown = key(request);
    if (given === undefined || given === null || given === "") return addressKey(request);
    if (typeof given === "string")
      return given.startsWith(ADDRESS_KEYS) ? `${ADDRESS_KEYS}key:${given.slice(ADDRESS_KEYS.length)}` : given;
    dropRejection(given);
    throw invalidKey(`Option key must return a string, or undefined for the address, at once, got ${show(given)}.`);
  };
}

/** A key that is given again is the same text each time: its hash is known, and nothing is put together. */
function addressKeys(options: AddressGroupingOptions | undefined): (address: string) => string {
  const group = createAddressGrouping(options);
  const shared = keysOfAddresses.get(options?.ipv6Subnet);
  if (shared !== undefined) return shared;
  const known = new Map<string, string>();
  const keyOfAddress = (address: string): string => {
    const before = known.get(address);
    if (before !== undefined) return before;
    const key = ADDRESS_KEYS + group(address);
    if (address.length > LONGEST_KNOWN) return key;
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(address, key);
    return key;
  };
  keysOfAddresses.set(options?.ipv6Subnet, keyOfAddress);
  return keyOfAddress;
}
