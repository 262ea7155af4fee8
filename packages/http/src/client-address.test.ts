import { BlockList, isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAddressGrouping } from "./client-address.ts";
import { isIpv4, readIpv6 } from "./ip-address.ts";

const group = createAddressGrouping();

describe("createAddressGrouping", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["64:ff9b::192.0.2.1", "192.0.2.1"],
    ["192.0.2.1:5678", "192.0.2.1"],
    ["2001:db8:0:1ff:1:2:3:4", "2001:db8:0:100::/56"],
    ["2001:0DB8:0000:01FF:0001::4", "2001:db8:0:100::/56"],
    ["[2001:db8:0:1ff::1]:443", "2001:db8:0:100::/56"],
    ["[2001:db8:0:1ff::1]", "2001:db8:0:100::/56"],
    ["::1", "0:0:0:0::/56"],
    ["fe80::1%eth0", "fe80:0:0:0:0:0:0:1"],
    ["fe80::2%eth0", "fe80:0:0:0:0:0:0:2"],
    ["::ffff:192.0.2.1%eth0", "192.0.2.1"],
    ["[::ffff:192.0.2.1]:8080", "192.0.2.1"],
    ["[fe80::1%eth0]:8080", "fe80:0:0:0:0:0:0:1"],
    ["2001:db8:0:1ff::1%25en0", "2001:db8:0:100::/56"],
    ["::ffff:0:192.0.2.1", "0:0:0:0::/56"],
    ["unknown", "unknown"],
    ["_hidden:1", "_hidden:1"],
    ["1:2:3", "1:2:3"],
    ["999.0.0.1:80", "999.0.0.1:80"],
  ])("makes %j into %j", (address, caller) => {
    expect(group(address)).toBe(caller);
  });

  it.each([
    [1, "8000::/1"],
    [48, "ffff:ffff:ffff::/48"],
    [64, "ffff:ffff:ffff:ffff::/64"],
    [65, "ffff:ffff:ffff:ffff:8000::/65"],
    [113, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:8000/113"],
    [128, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"],
  ])("keeps the leading %d bits when told so", (ipv6Subnet, caller) => {
    expect(createAddressGrouping({ ipv6Subnet })("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe")).toBe(caller);
  });

  it.each(["", undefined, null, 7, {}])("refuses %j, so that no two callers without an address are one", (address) => {
    expect(() => group(address as string)).toThrow(/^An address must be a text, got/);
  });

  it.each([0, 129, 56.5, Number.NaN, "56", null])("refuses a subnet of %j bits", (bits) => {
    const ipv6Subnet = bits as number;
    expect(() => createAddressGrouping({ ipv6Subnet })).toThrow(/ipv6Subnet must be a whole number from 1 to 128/);
  });

  it("puts two addresses together exactly when the system's own subnet match does", () => {
    const bits = fc.integer({ min: 1, max: 128 });
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), bits, (one, other, ipv6Subnet) => {
        fc.pre(!one.includes("%") && !other.includes("%"));
        fc.pre(isPlain(one) && isPlain(other));
        const grouping = createAddressGrouping({ ipv6Subnet });
        const subnet = new BlockList();
        subnet.addSubnet(one, ipv6Subnet, "ipv6");
        expect(grouping(one) === grouping(other)).toBe(subnet.check(other, "ipv6"));
        const neighbour = flipLastBit(one);
        if (isPlain(neighbour)) expect(grouping(one) === grouping(neighbour)).toBe(subnet.check(neighbour, "ipv6"));
      }),
    );
  });

  it("gives every way of writing an address the same caller", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const canonical = new URL(`http://[${address}]`).hostname;
        expect(group(canonical)).toBe(group(address));
        expect(group(address.toUpperCase())).toBe(group(address));
      }),
    );
  });

  it("gives the same answer again, also after more addresses than it remembers", () => {
    const grouping = createAddressGrouping();
    const addressOf = (n: number) => `2001:db8:${n.toString(16)}:1ff::1`;
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 5000; n++) expect(grouping(addressOf(n))).toBe(`2001:db8:${n.toString(16)}:100::/56`);
  });

  it("takes IPv4 in IPv6 for the IPv4 address", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(group(`::ffff:${address}`)).toBe(address);
        expect(group(new URL(`http://[::ffff:${address}]`).hostname)).toBe(address);
      }),
    );
  });
});

describe("address parsers", () => {
  it("accept exactly what the system accepts", () => {
    const texts = fc.oneof(
      fc.ipV6(),
      fc.ipV4(),
      fc.stringMatching(/^[0-9a-f:]{0,24}$/),
      fc.stringMatching(/^(?:[0-9a-f]{0,4}:){0,9}[0-9a-f]{0,4}$/),
      fc.stringMatching(/^(?:::|1:)*[0-9]{1,3}(?:\.[0-9]{1,3}){2,4}$/),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(readIpv6(text) !== undefined).toBe(isIPv6(text));
        expect(isIpv4(text)).toBe(isIPv4(text));
      }),
      { numRuns: 2000 },
    );
  });
});

/** Neither IPv4 in IPv6 nor link-local, which have rules of their own. */
function isPlain(address: string): boolean {
  const groups = readIpv6(address) ?? [];
  const [first, second, ...rest] = groups as [number, number, ...number[]];
  const startsWithZeros = first === 0 && second === 0 && rest.slice(0, 3).every((one) => one === 0);
  const translated = first === 0x64 && second === 0xff9b;
  return !startsWithZeros && !translated && (first & 0xffc0) !== 0xfe80;
}

function flipLastBit(address: string): string {
  const groups = [...(readIpv6(address) ?? [])];
  groups[7] = (groups[7] as number) ^ 1;
  return groups.map((one) => one.toString(16)).join(":");
}
