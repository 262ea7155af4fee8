import { BlockList, isIP } from "node:net";
import { createAddressGrouping } from "@spillway/http";
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
  return ({ ip }: { readonly ip: string | undefined }) => {
    if (!ip) return false;
    const address = bareAddress(ip);
    const family = isIP(address);
    return family !== 0 && addresses.check(address, family === 4 ? "ipv4" : "ipv6");
  };
}

/** As keys have it: without a port, brackets or a zone, which a forwarded address may come with. */
const bareAddress = createAddressGrouping({ ipv6Subnet: 128 });

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
