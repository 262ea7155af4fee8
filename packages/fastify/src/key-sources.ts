import { joinKey, type KeyHash } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import { dropRejection } from "spillway/kit";
import type { KeyFunction } from "./caller-key.ts";
import { invalidOption, requireType } from "./option-error.ts";

/** The caller's address, also where the plugin's `key` is another one. */
export const byAddress: KeyFunction = () => undefined;

/**
 * A header's value; the address where a request has none. Only for headers that a trusted proxy sets, or that something before
 * has checked: else a caller has as many buckets as it can think of values.
 * @param hash such as of `createKeyHash`, for what must not reach the store.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION` for a name that no header has.
 */
export function byHeader(name: string, hash?: KeyHash): KeyFunction {
  if (typeof name !== "string" || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw invalidOption("name", "a header name", name);
  requireType(hash, "hash", "function");
  const header = name.toLowerCase();
  return (request) => keyOf(header, headerOf(request, header), hash);
}

/**
 * The API key of `X-Api-Key`, or of `Authorization: Bearer`; the address where a request has none. Give a hash, since
 * keys are secrets.
 */
export function byApiKey(hash?: KeyHash): KeyFunction {
  requireType(hash, "hash", "function");
  return (request) => {
    const bearer = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    return keyOf("api-key", headerOf(request, "x-api-key") ?? bearer, hash);
  };
}

/**
 * The user that an authentication hook has found out: `id`, else `sub`, of `request.user`, or what `idOf` returns. The address
 * of requests without. Needs a hook after authentication, `hook: "preHandler"` for one.
 */
export function byUser(idOf: (request: FastifyRequest) => string | number | null | undefined = idOfUser): KeyFunction {
  requireType(idOf, "idOf", "function");
  return (request) => {
    const id = idOf(request);
    return keyOf("user", typeof id === "number" ? String(id) : (id ?? undefined), undefined);
  };
}

function keyOf(kind: string, value: string | undefined, hash: KeyHash | undefined): string | undefined {
  if (value === undefined || value === "") return undefined;
  const part: unknown = hash === undefined ? value : hash(value);
  // What joinKey refuses may be a promise, which could reject.
  dropRejection(part);
  return joinKey(kind, part as string);
}

function headerOf({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

function idOfUser(request: FastifyRequest): string | number | undefined {
  const user: unknown = (request as { user?: unknown }).user;
  if (typeof user !== "object" || user === null) return undefined;
  const { id, sub } = user as { id?: unknown; sub?: unknown };
  return [id, sub].find((one) => typeof one === "string" || typeof one === "number") as string | number | undefined;
}
