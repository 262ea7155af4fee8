import type { AddressGrouping } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import { SpillwayError } from "spillway";
import { show } from "./option-error.ts";

/**
 * Names the caller of a request, synchronously. `undefined`, `null` and `""` mean "not known": the address counts then.
 * What it throws goes to the error handler, so it may answer 401.
 */
export type KeyFunction = (request: FastifyRequest) => string | null | undefined;

const ADDRESS_KEYS = "ip:";

/**
 * Makes the function that gives a request its limiter key. The address becomes `ip:` and its group. A key of `key` is used
 * as it is, but one that begins with `ip:` becomes `ip:key:` and the rest: no caller can name another one's address.
 */
export function callerKey(key: KeyFunction | undefined, group: AddressGrouping): (request: FastifyRequest) => string {
  const addressKey = (request: FastifyRequest): string => ADDRESS_KEYS + group(addressOf(request));
  if (key === undefined) return addressKey;
  return (request) => {
    const given = key(request);
    if (given === undefined || given === null || given === "") return addressKey(request);
    if (typeof given !== "string") throw badKey(given, request);
    return given.startsWith(ADDRESS_KEYS) ? `${ADDRESS_KEYS}key:${given.slice(ADDRESS_KEYS.length)}` : given;
  };
}

/** Fastify's own view of the address (`trustProxy`); forwarded headers are never read here. */
function addressOf(request: FastifyRequest): string {
  // Typed as a string, but missing on a Unix socket and once the connection is gone.
  const address: string | undefined = request.ip;
  if (address) return address;
  const message = "The request has no address: on a Unix socket set trustProxy, or give a key for every request.";
  throw new SpillwayError("ERR_SPILLWAY_INVALID_KEY", message);
}

function badKey(got: unknown, request: FastifyRequest): SpillwayError {
  const { method, url } = request.routeOptions;
  const at = `${String(method)} ${url ?? "(no route)"}`;
  const message = `Option key must return a string, or undefined for the address, at ${at}, got ${show(got)}.`;
  return new SpillwayError("ERR_SPILLWAY_INVALID_KEY", message);
}
