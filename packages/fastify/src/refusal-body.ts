import { STATUS_CODES } from "node:http";
import { PROBLEM_CONTENT_TYPE, refusalProblem, refusalStatus } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { RefusalReason, RefusedDecision } from "spillway";
import { dropRejection, isThenable } from "spillway/kit";
import { invalidOption } from "./option-error.ts";

/** Builds the body of a refusal: whatever `reply.send` takes. */
export type BodyFunction = (request: FastifyRequest, decision: RefusedDecision) => unknown;

/** The body of a refusal, and the content type to send it under where the plugin knows it. */
export interface RefusalBody {
  readonly contentType: string | undefined;
  readonly build: BodyFunction;
}

/** The `code` in the JSON body of a refusal. */
export type RefusalCode = "SPILLWAY_LIMITED" | "SPILLWAY_NEVER" | "SPILLWAY_BLOCKED" | "SPILLWAY_UNDECIDED";

/** All of a body that does not depend on the decision, by its reason. */
const OPENINGS: Readonly<Record<RefusalReason | "undecided", string>> = {
  limited: opening("SPILLWAY_LIMITED", "Over the limit, come back later."),
  never: opening("SPILLWAY_NEVER", "This request costs more than its limit ever allows."),
  blocked: opening("SPILLWAY_BLOCKED", "Shut out for now."),
  undecided: opening("SPILLWAY_UNDECIDED", "The limit cannot be told for now, come back later.", 503),
};

/** The shape of Fastify's own errors. */
function opening(code: RefusalCode, message: string, status: 429 | 503 = 429): string {
  return `{"statusCode":${status},"code":"${code}","error":"${STATUS_CODES[status]}","message":"${message}"`;
}

/** Chooses what refusals look like. */
export function refusalBody(custom: BodyFunction | undefined, problemJson: boolean): RefusalBody {
  if (custom !== undefined) return { contentType: undefined, build: synchronous(custom) };
  if (problemJson) return { contentType: `${PROBLEM_CONTENT_TYPE}; charset=utf-8`, build: problemText };
  return { contentType: "application/json; charset=utf-8", build: jsonBody() };
}

/**
 * Put together without a serializer: every part is a constant or a number. Refusals within a millisecond say the same. By `join`,
 * which makes one text in one piece: Node counts the bytes of what `+` makes each time anew, and more slowly.
 */
function jsonBody(): BodyFunction {
  let latest = { reason: "", waitMs: 0, text: "" };
  return (_request, decision) => {
    const reason = refusalStatus(decision) === 503 ? "undecided" : decision.reason;
    const waitMs = Math.ceil(decision.retryAfterMs);
    if (latest.reason !== reason || latest.waitMs !== waitMs) {
      const end = Number.isFinite(waitMs) ? `,"retryAfterMs":${waitMs}}` : "}";
      latest = { reason, waitMs, text: [OPENINGS[reason], end].join("") };
    }
    return latest.text;
  };
}

function problemText(_request: FastifyRequest, decision: RefusedDecision): string {
  return JSON.stringify(refusalProblem(decision));
}

function synchronous(custom: BodyFunction): BodyFunction {
  return (request, decision) => {
    const body = custom(request, decision);
    if (isThenable(body)) {
      dropRejection(body);
      throw invalidOption("body", "a synchronous function", custom);
    }
    return body;
  };
}
