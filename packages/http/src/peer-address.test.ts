import { expect, it } from "vitest";
import type { LimitedRequest } from "./limited-exchange.ts";
import { createPeerAddress } from "./peer-address.ts";
import { someRequest } from "./test-support.ts";

const forwarded = { "x-forwarded-for": "198.51.100.7" };

function ask(...requests: Partial<LimitedRequest>[]) {
  const said: string[] = [];
  const addressOf = createPeerAddress((message) => said.push(message));
  return { addresses: requests.map((parts) => addressOf(someRequest(parts))), said };
}

it("is that of the connection, and that of Express where it has one; never a forwarded one", () => {
  const { addresses } = ask({}, { ip: "203.0.113.9" }, { headers: forwarded }, { socket: {} });
  expect(addresses).toEqual(["192.0.2.1", "203.0.113.9", "192.0.2.1", undefined]);
});

it("says once that a proxy may be taken for all its callers", () => {
  const { said } = ask({}, { headers: forwarded }, { headers: forwarded, ip: "192.0.2.1" });
  expect(said).toEqual([expect.stringContaining("set `trust proxy` in Express, or give the option key")]);
  expect(ask({}, { headers: forwarded, ip: "198.51.100.7" }).said).toEqual([]);
});

it("says once that callers can choose their address where Express trusts everybody", () => {
  const appWith = (trust: unknown) => ({ get: (name: string) => (name === "trust proxy" ? trust : undefined) });
  expect(ask({ app: appWith(true) }, { app: appWith(true) }).said).toEqual([
    expect.stringContaining("`trust proxy` set to true"),
  ]);
  for (const app of [appWith(1), appWith("loopback"), appWith(false), undefined, {}, null])
    expect(ask({ app }).said).toEqual([]);
});
