import type { QuotaStatus } from "@spillway/http";
import type { FastifyRequest } from "fastify";

/** Where a request keeps the policies that its caller is told of, over all registrations. */
export const TOLD: unique symbol = Symbol("spillway.told");

interface Notes {
  [TOLD]: readonly QuotaStatus[] | null;
}

/** The statuses told so far; `null` for none. */
export function toldStatuses(request: FastifyRequest): readonly QuotaStatus[] | null {
  return (request as unknown as Notes)[TOLD];
}

/** Adds statuses; returns those told before. */
export function noteTold(request: FastifyRequest, more: readonly QuotaStatus[]): readonly QuotaStatus[] | null {
  const notes = request as unknown as Notes;
  const earlier = notes[TOLD];
  notes[TOLD] = earlier === null ? more : [...earlier, ...more];
  return earlier;
}
