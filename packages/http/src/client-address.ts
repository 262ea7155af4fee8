import { invalidKey, optionOutOfRange, show } from "./argument-error.ts";
import { type Ipv6Groups, ipv4Within, isIpv4, readIpv6 } from "./ip-address.ts";

/** How addresses are put together that one caller can change between at will. */
export interface AddressGroupingOptions {
  /**
   * Leading bits of an IPv6 address that stand for one caller: 1 to 128, where 128 puts no two addresses together. Defaults to
   * 56, what a home is commonly given.
   */
  readonly ipv6Subnet?: number;
}

/** Turns an address into the text that stands for its caller. */
export type AddressGrouping = (address: string) => string;

/**
 * Makes a function that groups client addresses:
 * - an IPv4 address stays as it is, and so does one written as IPv6 (`::ffff:192.0.2.1`, `64:ff9b::c000:201`);
 * - an IPv6 address becomes its subnet, `2001:db8:0:100::/56`, in one form for every way of writing it;
 * - a zone, a port and square brackets fall away;
 * - a link-local address (`fe80::/10`) stays whole, since all neighbours share its subnet;
 * - a text that is no address stays as it is.
 * @throws RangeError for an `ipv6Subnet` outside 1 to 128. The function throws a TypeError for what is no text, or is empty:
 * callers without an address must not become one caller.
 */
export function createAddressGrouping(options: AddressGroupingOptions = {}): AddressGrouping {
  const bits: unknown = options.ipv6Subnet === undefined ? 56 : options.ipv6Subnet;
  if (!isSubnet(bits)) throw optionOutOfRange("ipv6Subnet", "a whole number from 1 to 128", bits);
  const known = new Map<string, string>();
  return (address) => {
    if (typeof address !== "string" || address === "")
      throw invalidKey(`An address must be a text, got ${show(address)}.`);
    if (!address.includes(":")) return address;
    return mappedIpv4(address) ?? known.get(address) ?? remember(known, address, groupColons(address, bits));
  };
}

/** How many texts a grouping remembers, and up to which length: a forwarded one can be anything. */
const MOST_KNOWN = 4096;
const LONGEST_KNOWN = 64;

function remember(known: Map<string, string>, address: string, group: string): string {
  if (known.size >= MOST_KNOWN) known.clear();
  if (address.length <= LONGEST_KNOWN) known.set(address, group);
  return group;
}

/** The form in which a socket for both families shows an IPv4 peer, without the long way round. */
function mappedIpv4(address: string): string | undefined {
  if (!address.startsWith("::ffff:")) return undefined;
  const rest = address.slice(7);
  return isIpv4(rest) ? rest : undefined;
}

function isSubnet(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 128;
}

/** Groups a text with a colon in it: IPv6, or either kind with a port. */
function groupColons(address: string, bits: number): string {
  const bare = bareAddress(address);
  if (isIpv4(bare)) return bare;
  const groups = readIpv6(bare);
  if (groups === undefined) return address;
  return ipv4Within(groups) ?? subnetText(groups, isLinkLocal(groups) ? 128 : bits);
}

/** Without a port, brackets or a zone. */
function bareAddress(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text;
  const dotted = /^([\d.]+):\d+$/.exec(bracketed)?.[1] ?? bracketed;
  const zone = dotted.indexOf("%");
  return zone === -1 ? dotted : dotted.slice(0, zone);
}

function isLinkLocal(groups: Ipv6Groups): boolean {
  return ((groups[0] as number) & 0xffc0) === 0xfe80;
}

/** The subnet as text: its groups written out, then `::/bits`. */
function subnetText(groups: Ipv6Groups, bits: number): string {
  const whole = Math.ceil(bits / 16);
  let text = "";
  for (let index = 0; index < whole; index++) {
    const kept = Math.min(16, bits - index * 16);
    const masked = (groups[index] as number) & (0xffff << (16 - kept));
    text += `${index === 0 ? "" : ":"}${(masked & 0xffff).toString(16)}`;
  }
  if (bits === 128) return text;
  return whole === 8 ? `${text}/${bits}` : `${text}::/${bits}`;
}
