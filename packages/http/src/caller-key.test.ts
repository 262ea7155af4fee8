import { describe, expect, it } from "vitest";
import { createCallerKey } from "./caller-key.ts";

interface Caller {
  readonly address?: string;
  readonly name?: unknown;
}

const addressOf = ({ address }: Caller) => address;
const keyOf = createCallerKey<Caller>({ addressOf, key: ({ name }) => name as string });

describe("createCallerKey", () => {
  it("gives the address where there is no other key, an IPv6 one by its subnet", () => {
    const byAddress = createCallerKey<Caller>({ addressOf });
    expect(byAddress({ address: "::ffff:192.0.2.1", name: "anna" })).toBe("ip:192.0.2.1");
    expect(byAddress({ address: "2001:db8:0:1ff::1" })).toBe("ip:2001:db8:0:100::/56");
    const whole = createCallerKey<Caller>({ addressOf, addresses: { ipv6Subnet: 128 } });
    expect(whole({ address: "2001:db8::1" })).toBe("ip:2001:db8:0:0:0:0:0:1");
    expect(() => createCallerKey({ addressOf, addresses: { ipv6Subnet: 129 } })).toThrow(RangeError);
  });

  it("gives the same key again, each by its own subnet, also after more addresses than it remembers", () => {
    const [usual, whole] = [56, 128].map((ipv6Subnet) =>
      createCallerKey<Caller>({ addressOf, addresses: { ipv6Subnet } }),
    );
    const many = Array.from({ length: 5000 }, (_, n) => `198.51.${n >> 8}.${n & 255}`);
    for (let round = 0; round < 2; round++) {
      expect(usual?.({ address: "2001:db8::1" })).toBe("ip:2001:db8:0:0::/56");
      expect(whole?.({ address: "2001:db8::1" })).toBe("ip:2001:db8:0:0:0:0:0:1");
      for (const address of many) expect(usual?.({ address })).toBe(`ip:${address}`);
    }
    const long = "a".repeat(1000);
    expect([usual?.({ address: long }), usual?.({ address: long })]).toEqual([`ip:${long}`, `ip:${long}`]);
  });

  it("gives the address where the function knows nobody (C18 b)", () => {
    for (const name of [undefined, null, ""]) expect(keyOf({ address: "192.0.2.1", name })).toBe("ip:192.0.2.1");
    for (const name of ["42", "a, b", "k".repeat(8192)]) expect(keyOf({ address: "192.0.2.1", name })).toBe(name);
  });

  it("lets nobody choose the key of another one's address", () => {
    const victim = keyOf({ address: "192.0.2.1" });
    const forged = [victim, "ip:key:192.0.2.1", "ip:"].map((name) => keyOf({ address: "198.51.100.9", name }));
    expect(forged).toEqual(["ip:key:192.0.2.1", "ip:key:key:192.0.2.1", "ip:key:"]);
  });

  it.each([42, {}, [], true, Symbol("k"), Promise.resolve("late")])("refuses %o as a key", (name) => {
    expect(() => keyOf({ address: "192.0.2.1", name })).toThrow(/^Option key must return a string, or undefined/);
  });

  it("refuses a caller without key and address, never sharing a bucket among them", () => {
    for (const address of [undefined, ""])
      expect(() => keyOf(address === undefined ? {} : { address })).toThrow("The request has no address");
  });
});
