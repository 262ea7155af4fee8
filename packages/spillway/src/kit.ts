// How options are read, and what functions among them answer or throw, for the packages beside the limiter: a bad one is named alike in
// all of them, with what was expected and what came.
export { durationUs } from "./duration.ts";
export { invalidOption, thrownText } from "./errors.ts";
export { onAbort } from "./on-abort.ts";
export { requireNumber, requireObject, requireWhole } from "./options.ts";
export { dropRejection, isThenable, onRejection } from "./thenable.ts";
