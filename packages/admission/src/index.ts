export { type Admission, createAdmission, type Ran } from "./admission.ts";
export type { AdmissionMode, AdmissionOptions, AdmissionTuning, RetryAfterMode } from "./admission-options.ts";
export type { AcquireOptions } from "./ask.ts";
// The form for node:http, and what its likes for frameworks are made of.
export { type AdmissionListenerOptions, type AdmittedListener, withAdmission } from "./http/admission-listener.ts";
export { enterWithReply } from "./http/enter-with-reply.ts";
export { isExempt, requirePatterns, USUAL_EXEMPTIONS } from "./http/exemption.ts";
export {
  DEADLINE_HEADER,
  type DeadlineOptions,
  deadlineHeaders,
  deadlineReader,
  readDeadlineMs,
} from "./http/request-deadline.ts";
export { type ShedReply, shedReplies } from "./http/shed-reply.ts";
export type { Order } from "./line-order.ts";
export type { Permit, WorkOutcome } from "./permit.ts";
export type { Shed, ShedReason } from "./shed.ts";
export type { AdmissionStats, WaitHistogram } from "./stats.ts";
export type { Answer, Place } from "./waiter.ts";
