import type { QuotaStatus } from "@spillway/http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Decision } from "spillway";

const DECISION: unique symbol = Symbol("spillway.decision");
const TOLD: unique symbol = Symbol("spillway.told");

/** What a request keeps of its limits; it has neither before something is decided for it. */
interface Notes {
  [DECISION]?: Decision | null;
  /** The policies that its caller is told of, over all registrations. */
  [TOLD]?: readonly QuotaStatus[];
}

function notesOf(request: FastifyRequest): Notes {
  return request as unknown as Notes;
}

/** Gives requests `spillway`: by a getter, since Fastify writes other decorators to every request, limited or not. */
export function decorateRequests(app: FastifyInstance): void {
  if (app.hasRequestDecorator("spillway")) return;
  app.decorateRequest("spillway", {
    getter() {
      return notesOf(this)[DECISION] ?? null;
    },
    setter(decision) {
      notesOf(this)[DECISION] = decision;
    },
  });
}

/** The statuses told so far; `undefined` for none. */
export function toldStatuses(request: FastifyRequest): readonly QuotaStatus[] | undefined {
  return notesOf(request)[TOLD];
}

/** Adds statuses; returns those told before. */
export function noteTold(request: FastifyRequest, more: readonly QuotaStatus[]): readonly QuotaStatus[] | undefined {
  const notes = notesOf(request);
  const earlier = notes[TOLD];
  notes[TOLD] = earlier === undefined ? more : [...earlier, ...more];
  return earlier;
}
