import type { IncomingMessage, ServerResponse } from "node:http";
import { onRejection, thrownText } from "spillway/kit";
import type { Admission } from "../admission.ts";
import type { AcquireOptions } from "../ask.ts";
import { invalidOption, requireMembers } from "../option-error.ts";
import type { Permit } from "../permit.ts";
import type { Shed } from "../shed.ts";
import { enterWithReply } from "./enter-with-reply.ts";
import { isExempt, requirePatterns, USUAL_EXEMPTIONS } from "./exemption.ts";
import { type DeadlineOptions, deadlineReader } from "./request-deadline.ts";
import { shedReplies } from "./shed-reply.ts";

/** A listener of `node:http`. `permit` is `undefined` for requests that are exempt. */
export type AdmittedListener = (request: IncomingMessage, response: ServerResponse, permit: Permit | undefined) => void;

export interface AdmissionListenerOptions extends DeadlineOptions<IncomingMessage> {
  /** Paths that are always served. A `*` at the end stands for anything. Defaults to the usual health and metrics paths. */
  readonly exempt?: readonly string[];
  /** What a request takes of the slots. Synchronous. Defaults to 1. */
  readonly cost?: (request: IncomingMessage) => number;
  /** Sends refusals as `application/problem+json` (RFC 9457). Defaults to false. */
  readonly problemJson?: boolean;
  /** Is told of each refusal before it is sent. What it throws is answered with 500 in place of the refusal. */
  readonly onShed?: (request: IncomingMessage, shed: Shed) => void;
}

const MEMBERS = ["deadlineMs", "readDeadline", "maxDeadlineMs", "exempt", "cost", "problemJson", "onShed"];

/**
 * A listener that calls another one for the requests that are let in and answers the others with 503. The slots go back when
 * the reply closes. A request for which `cost`, `readDeadline` or `onShed` throws, or `cost` gives none, is answered with 500
 * and not let in; the first such fault of a listener is a process warning.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function withAdmission(
  admission: Admission,
  listener: AdmittedListener,
  options: AdmissionListenerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  requireOptions(admission, listener, options);
  const { exempt = USUAL_EXEMPTIONS, cost, problemJson = false, onShed } = options;
  const deadlineOf = deadlineReader(options);
  const replyOf = shedReplies(problemJson);
  const fail = faultReply();
  const refuse = (request: IncomingMessage, response: ServerResponse, shed: Shed): void => {
    try {
      onRejection(onShed?.(request, shed), (error) => fail(error));
      // Someone else may have replied meanwhile, a timeout for one.
      if (response.headersSent) return;
      const { headers, body } = replyOf(shed);
      response.writeHead(503, headers).end(body);
    } catch (error) {
      fail(error, response);
    }
  };
  return (request, response) => {
    if (isExempt(exempt, pathOf(request))) {
      listener(request, response, undefined);
      return;
    }
    let isLetIn = false;
    try {
      enterWithReply(admission, askOf(request, deadlineOf, cost), request, response, (answer) => {
        isLetIn = answer.admitted;
        if (answer.admitted) listener(request, response, answer);
        else refuse(request, response, answer);
      });
    } catch (error) {
      // What the listener throws is no fault of an option.
      if (isLetIn) throw error;
      fail(error, response);
    }
  };
}

const FAULT = '{"error":"internal"}';
const FAULT_HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "content-length": String(FAULT.length),
} as const;

/** Answers 500. Only the first fault is told: a caller who finds out how to cause one could fill the log with them. */
function faultReply(): (error: unknown, response?: ServerResponse) => void {
  let isTold = false;
  return (error, response) => {
    if (!isTold) {
      const stack = error instanceof Error ? (error.stack ?? "") : "";
      const message = `An option of withAdmission failed: ${thrownText(error)}`;
      process.emitWarning(message, { type: "SpillwayWarning", detail: stack });
    }
    isTold = true;
    if (response === undefined || response.headersSent) return;
    response.writeHead(500, FAULT_HEADERS).end(FAULT);
  };
}

function askOf(
  request: IncomingMessage,
  deadlineOf: (request: IncomingMessage) => number,
  costOf: AdmissionListenerOptions["cost"],
): AcquireOptions | undefined {
  const deadlineMs = deadlineOf(request);
  if (costOf !== undefined) return { cost: costOf(request), deadlineMs };
  return deadlineMs === Number.POSITIVE_INFINITY ? undefined : { deadlineMs };
}

function pathOf(request: IncomingMessage): string {
  const url = request.url ?? "/";
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

function requireOptions(admission: unknown, listener: unknown, options: AdmissionListenerOptions): void {
  if (typeof (admission as Partial<Admission> | null | undefined)?.enter !== "function")
    throw invalidOption("admission", "a controller of createAdmission()", admission);
  if (typeof listener !== "function") throw invalidOption("listener", "a function", listener);
  requireMembers(options, MEMBERS);
  const { exempt, cost, problemJson, onShed } = options;
  if (exempt !== undefined) requirePatterns(exempt, "exempt");
  if (cost !== undefined && typeof cost !== "function") throw invalidOption("cost", "a function", cost);
  if (onShed !== undefined && typeof onShed !== "function") throw invalidOption("onShed", "a function", onShed);
  if (problemJson !== undefined && typeof problemJson !== "boolean")
    throw invalidOption("problemJson", "a boolean", problemJson);
}
