import { type AddressGroupingOptions, createCallerKey } from "@spillway/http";
import type { FastifyRequest } from "fastify";

/**
 * Names the caller of a request, synchronously. `undefined`, `null` and `""` mean "not known": the address counts then.
 * What it throws goes to the error handler, so it may answer 401.
 */
export type KeyFunction = (request: FastifyRequest) => string | null | undefined;

/** Fastify's own view of the address (`trustProxy`); forwarded headers are never read here. */
export function callerKey(
  key: KeyFunction | undefined,
  addresses: AddressGroupingOptions | undefined,
): (request: FastifyRequest) => string {
  return createCallerKey<FastifyRequest>({ key, addressOf: ({ ip }) => ip, addresses });
}
