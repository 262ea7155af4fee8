import type { QuotaStatus } from "@spillway/http";
import type { FastifyRequest } from "fastify";

/** Where a request keeps the policies that its caller is told of, over all registrations. */
export const TOLD: unique symbol = Symbol("spillway.told");

/** The statuses told so far; `null` for none. With `more`, after adding them. */
export function toldStatuses(request: FastifyRequest, more?: readonly QuotaStatus[]): readonly QuotaStatus[] | null {
  const notes = request as unknown as { [TOLD]: readonly QuotaStatus[] | null };
  if (more !== undefined) notes[TOLD] = notes[TOLD] === null ? more : [...notes[TOLD], ...more];
  return notes[TOLD];
}
