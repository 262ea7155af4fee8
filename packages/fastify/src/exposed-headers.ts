import type { FastifyReply } from "fastify";

const EXPOSE = "access-control-expose-headers";

/** Adds names to the response headers that a browser shows to other origins. Those that are there stay. */
export function exposeHeaders(reply: FastifyReply, names: readonly string[]): void {
  const earlier = reply.getHeader(EXPOSE);
  const list = [earlier ?? []].flat().join(", ");
  const known = new Set(list.split(",").map((name) => name.trim().toLowerCase()));
  const missing = names.filter((name) => !known.has(name.toLowerCase()));
  if (missing.length > 0) reply.header(EXPOSE, [...(list === "" ? [] : [list]), ...missing].join(", "));
}
