import { BlockList, isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { dropRejection } from "spillway/kit";
import { invalidOption } from "./option-error.ts";

/** Who is never limited: addresses and subnets, or a synchronous function of the request. */
export type AllowList = readonly string[] | ((request: FastifyRequest) => boolean);

/**
 * Makes the function that tells whether a request is left alone.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function allowListed(list: AllowList | undefined): ((request: FastifyRequest) => boolean) | undefined {
  if (list === undefined) return undefined;
  if (typeof list === "function") return (request) => requireAnswer(list(request), list);
  if (!Array.isArray(list)) throw invalidOption("allowList", "an array of addresses, or a function", list);
  const addresses = new BlockList();
  for (const [index, entry] of list.entries()) addEntry(addresses, entry, `allowList[${index}]`);
  return ({ ip }) => {
    const family = isIP(ip);
    return family !== 0 && addresses.check(ip, family === 4 ? "ipv4" : "ipv6");
  };
}

function addEntry(addresses: BlockList, entry: unknown, option: string): void {
  const [address, bits, ...more] = typeof entry === "string" ? entry.split("/") : [];
  const family = isIP(address ?? "");
  const most = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
  if (address === undefined || family === 0 || more.length > 0 || prefix < 0 || prefix > most)
    throw invalidOption(option, 'an address or a subnet such as "192.0.2.0/24"', entry);
  addresses.addSubnet(address, prefix, family === 4 ? "ipv4" : "ipv6");
}

/** A promise would be true for everybody. */
function requireAnswer(answer: unknown, list: unknown): boolean {
  dropRejection(answer);
  if (typeof answer === "boolean" || answer === undefined) return answer === true;
  throw invalidOption("allowList", "a synchronous function that returns true or false", list);
}
