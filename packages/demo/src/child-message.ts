import type { EventEmitter } from "node:events";

/** The part of a child process, or of a cluster worker, that waiting for its messages needs. */
export type MessagingChild = Pick<EventEmitter, "on" | "off">;

/** How long to wait, and what for. */
export interface WaitLimits {
  /** As an error names it: "Worker 7 to be ready". */
  readonly what: string;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/**
 * Waits for the first message that `pick` makes something of.
 * @throws Error when the child exits first, when the deadline passes, or when `pick` throws; the signal's reason when aborted.
 */
export function waitForMessage<Message, Picked>(
  child: MessagingChild,
  pick: (message: Message) => Picked | undefined,
  { what, deadlineMs, signal }: WaitLimits,
): Promise<Picked> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: unknown): void => end(() => reject(error));
    const onMessage = (message: Message): void => {
      try {
        const picked = pick(message);
        if (picked !== undefined) end(() => resolve(picked));
      } catch (error) {
        fail(error);
      }
    };
    const onExit = (code: number | null, killer: string | null): void =>
      fail(new Error(`Waited for ${what}, but the process ended (${killer ?? `code ${code}`}).`));
    const onAbort = (): void => fail(signal.reason);
    const timer = setTimeout(() => fail(new Error(`Waited ${deadlineMs} ms for ${what} in vain.`)), deadlineMs);
    child.on("message", onMessage);
    child.on("exit", onExit);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}
