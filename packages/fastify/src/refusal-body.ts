import { PROBLEM_CONTENT_TYPE, refusalProblem } from "@spillway/http";
import type { FastifyRequest } from "fastify";
import type { RefusalReason, RefusedDecision } from "spillway";
import { invalidOption } from "./option-error.ts";

/** Builds the body of a refusal: whatever `reply.send` takes. */
export type BodyFunction = (request: FastifyRequest, decision: RefusedDecision) => unknown;

/** The body of a refusal, and the content type to send it under where the plugin knows it. */
export interface RefusalBody {
  readonly contentType: string | undefined;
  readonly build: BodyFunction;
}

/** The `code` in the JSON body of a refusal. */
export type RefusalCode = "SPILLWAY_LIMITED" | "SPILLWAY_NEVER" | "SPILLWAY_BLOCKED";

const TEXTS: Readonly<Record<RefusalReason, { readonly code: RefusalCode; readonly message: string }>> = {
  limited: { code: "SPILLWAY_LIMITED", message: "Over the limit, come back later." },
  never: { code: "SPILLWAY_NEVER", message: "This request costs more than its limit ever allows." },
  blocked: { code: "SPILLWAY_BLOCKED", message: "Shut out for now." },
};

/** Chooses what refusals look like. */
export function refusalBody(custom: BodyFunction | undefined, problemJson: boolean): RefusalBody {
  if (custom !== undefined) return { contentType: undefined, build: synchronous(custom) };
  if (problemJson) return { contentType: `${PROBLEM_CONTENT_TYPE}; charset=utf-8`, build: problemText };
  return { contentType: "application/json; charset=utf-8", build: jsonText };
}

/** The shape of Fastify's own errors, put together without a serializer: every part is a constant or a number. */
function jsonText(_request: FastifyRequest, decision: RefusedDecision): string {
  const { code, message } = TEXTS[decision.reason];
  const wait = Number.isFinite(decision.retryAfterMs) ? `,"retryAfterMs":${Math.ceil(decision.retryAfterMs)}` : "";
  return `{"statusCode":429,"code":"${code}","error":"Too Many Requests","message":"${message}"${wait}}`;
}

function problemText(_request: FastifyRequest, decision: RefusedDecision): string {
  return JSON.stringify(refusalProblem(decision));
}

function synchronous(custom: BodyFunction): BodyFunction {
  return (request, decision) => {
    const body = custom(request, decision);
    if (body instanceof Promise) {
      body.catch(() => {});
      throw invalidOption("body", "a synchronous function", custom);
    }
    return body;
  };
}
