import { SHED_REASONS, type Shed, type ShedReason } from "../shed.ts";

const DETAILS: Readonly<Record<ShedReason, string>> = {
  line_full: "The service is full and so is its line.",
  waited_too_long: "The service stayed full for as long as a request may wait.",
  deadline: "The answer would have come too late to be of use.",
  cancelled: "The caller left.",
  closed: "The service is closing.",
};

/** The parts of a 503. */
export interface ShedReply {
  readonly headers: Readonly<Record<string, string>>;
  /** ASCII. As text it leaves in one piece with the headers. */
  readonly body: string;
}

/**
 * Makes the function that turns a refusal into a 503. Bodies are built once; a reply costs no more than its few headers. `Retry-After` is
 * whole seconds, rounded up, at least 1; `retry-after-ms` is exact; `x-should-retry: false` is there where retrying is of no use.
 * @param problemJson whether bodies are `application/problem+json` (RFC 9457) in place of `{ error, reason }`.
 */
export function shedReplies(problemJson: boolean): (shed: Shed) => ShedReply {
  const contentType = problemJson ? "application/problem+json; charset=utf-8" : "application/json; charset=utf-8";
  const textOf = problemJson ? problemText : plainText;
  const bodies = Object.fromEntries(SHED_REASONS.map((reason) => [reason, textOf(reason)]));
  const lengths = Object.fromEntries(SHED_REASONS.map((reason) => [reason, String(textOf(reason).length)]));
  return ({ reason, retryAfterMs, shouldRetry }) => {
    const body = bodies[reason] as string;
    const headers: Record<string, string> = {
      "content-type": contentType,
      "content-length": lengths[reason] as string,
      "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
      "retry-after-ms": String(retryAfterMs),
    };
    if (!shouldRetry) headers["x-should-retry"] = "false";
    return { headers, body };
  };
}

function plainText(reason: ShedReason): string {
  return JSON.stringify({ error: "overloaded", reason });
}

function problemText(reason: ShedReason): string {
  return JSON.stringify({
    type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
    title: "Temporary reduced capacity",
    status: 503,
    detail: DETAILS[reason],
    reason,
    "violated-policies": ["admission"],
  });
}
