/** The eight 16-bit groups of an IPv6 address. */
export type Ipv6Groups = readonly number[];

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/** Whether a text is an IPv4 address in dotted decimal, without leading zeros. */
export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

/** Reads an IPv6 address in any form of RFC 4291, without a zone; `undefined` for anything else. */
export function readIpv6(text: string): Ipv6Groups | undefined {
  const halves = withoutDots(text)?.split("::");
  if (halves === undefined || halves.length > 2) return undefined;
  const head = readGroups(halves[0] as string);
  const tail = halves.length === 2 ? readGroups(halves[1] as string) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...new Array<number>(missing).fill(0), ...tail];
}

/** The IPv4 address inside `::ffff:0:0/96` (mapped) or `64:ff9b::/96` (translated), if it is one. */
export function ipv4Within(groups: Ipv6Groups): string | undefined {
  const [a, b, c, d, e, f, high, low] = groups as Eight;
  const mapped = a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff;
  const translated = a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0;
  return mapped || translated ? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` : undefined;
}

type Eight = [number, number, number, number, number, number, number, number];

/** Turns a dotted IPv4 tail into two groups. */
function withoutDots(text: string): string | undefined {
  if (!text.includes(".")) return text;
  const start = text.lastIndexOf(":") + 1;
  const dotted = text.slice(start);
  if (start === 0 || !isIpv4(dotted)) return undefined;
  const [a, b, c, d] = dotted.split(".").map(Number) as [number, number, number, number];
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function readGroups(text: string): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  for (const group of text.split(":")) {
    if (!GROUP.test(group)) return undefined;
    groups.push(Number.parseInt(group, 16));
  }
  return groups;
}
