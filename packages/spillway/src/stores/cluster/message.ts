/** Names a message as ours on a channel that others use too, and the version of the protocol. */
const PROTOCOL = 1;
/** The id of what concerns the primary's service as a whole: a worker's greeting, and the primary's word on it. */
export const SERVICE_ID = 0;
/** The method of a greeting: does the primary serve? */
export const GREETING = "hello";

/** From a worker to the primary. */
export interface CallMessage {
  readonly spillway: typeof PROTOCOL;
  /** Comes back with the reply. */
  readonly id: number;
  readonly method: string;
  readonly args: unknown;
}

/** From the primary to a worker. An error is its code and its message. */
export type ReplyMessage =
  | { readonly spillway: typeof PROTOCOL; readonly id: number; readonly result: unknown }
  | {
      readonly spillway: typeof PROTOCOL;
      readonly id: number;
      readonly error: readonly [code: string, message: string];
    };

/** A call as a worker sends it. */
export function callMessage(id: number, method: string, args: unknown): CallMessage {
  return { spillway: PROTOCOL, id, method, args };
}

/** The primary's answer to the call of this id. */
export function resultMessage(id: number, result: unknown): ReplyMessage {
  return { spillway: PROTOCOL, id, result };
}

/** The primary's refusal of the call of this id. */
export function errorMessage(id: number, code: string, message: string): ReplyMessage {
  return { spillway: PROTOCOL, id, error: [code, message] };
}

/** Whether something that a worker sent is a call of ours. What is not belongs to somebody else. */
export function isCall(message: unknown): message is CallMessage {
  return isOurs(message) && typeof (message as Partial<CallMessage>).method === "string";
}

/** Whether something that the primary sent is a reply of ours. */
export function isReply(message: unknown): message is ReplyMessage {
  return isOurs(message) && ("result" in message || Array.isArray((message as { error?: unknown }).error));
}

function isOurs(message: unknown): message is { readonly id: number } {
  if (typeof message !== "object" || message === null) return false;
  const { spillway, id } = message as Partial<CallMessage>;
  return spillway === PROTOCOL && Number.isSafeInteger(id);
}
