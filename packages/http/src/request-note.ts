import type { DecisionLike } from "./limiter-like.ts";

/** What a middleware has decided about a request; several are a chain, the latest first. */
export interface RequestNote {
  readonly decision: DecisionLike;
  /** The middleware. */
  readonly by: object;
  /** Whether the caller is told, which a dry run does not. */
  readonly isTold: boolean;
  readonly earlier: RequestNote | undefined;
}

const NOTE = Symbol("spillway.note");

/** The latest note on a request. */
export function noteOf(request: object): RequestNote | undefined {
  return (request as { [NOTE]?: RequestNote })[NOTE];
}

/** Puts a note on a request, before the earlier ones. */
export function addNote(request: object, decision: DecisionLike, by: object, isTold: boolean): RequestNote {
  const note: RequestNote = { decision, by, isTold, earlier: noteOf(request) };
  (request as { [NOTE]?: RequestNote })[NOTE] = note;
  return note;
}

/** Whether a middleware has decided about a request already: mounted twice, it still counts once. */
export function hasNoteBy(request: object, by: object): boolean {
  for (let note = noteOf(request); note !== undefined; note = note.earlier) if (note.by === by) return true;
  return false;
}

/**
 * The latest decision of {@link rateLimitMiddleware} about a request, for handlers and log lines; `undefined` for one that it
 * has not counted. The type parameter names the decisions of your limiter.
 */
export function decisionOf<Decision extends DecisionLike = DecisionLike>(request: object): Decision | undefined {
  return noteOf(request)?.decision as Decision | undefined;
}
