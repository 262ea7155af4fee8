import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { HttpAnswer } from "./http-answer.ts";
import type { LoadTally } from "./load-result.ts";
import type { RequestEnd, RequestSender } from "./request-sender.ts";

/** How long after the last request an answer may still come. */
const LAST_ANSWER_MS = 5000;

/**
 * Sends requests at their due instants, whether or not earlier ones came back, and counts in `tally` what becomes of them. A
 * late timer sends all that is due at once, and the lateness is measured from the due instants, so a stall of the server (or
 * of the generator) hides nothing.
 * @param dueMs ascending, in ms since the start.
 * @param ended aborted to send no more; answers on their way are still waited for.
 */
export async function runOpenLoop(
  sender: RequestSender,
  dueMs: readonly number[],
  tally: LoadTally,
  ended?: AbortSignal,
): Promise<void> {
  const pending = new Set<() => void>();
  const startMs = performance.now();
  let next = 0;
  while (next < dueMs.length && !isAborted(ended)) {
    const waitMs = startMs + dueMs[next]! - performance.now();
    // A generator that is behind still reads answers.
    await (waitMs > 0 ? sleepUnless(ended, waitMs) : turn());
    const nowMs = performance.now();
    for (; next < dueMs.length && !isAborted(ended) && startMs + dueMs[next]! <= nowMs; next++)
      sendOne(sender, startMs + dueMs[next]!, tally, pending);
  }
  await allEnded(pending);
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

async function sleepUnless(ended: AbortSignal | undefined, ms: number): Promise<void> {
  await sleep(ms, undefined, ended === undefined ? {} : { signal: ended }).catch(() => {});
}

function sendOne(sender: RequestSender, dueMs: number, tally: LoadTally, pending: Set<() => void>): void {
  const sentMs = performance.now();
  tally.sent(dueMs, sentMs);
  const giveUp = sender.send((end) => {
    pending.delete(giveUp);
    if ("answer" in end) tally.answered(dueMs, sentMs, performance.now(), end.answer);
    else tally.failed(end.failure);
  });
  pending.add(giveUp);
}

async function allEnded(pending: Set<() => void>): Promise<void> {
  const deadlineMs = performance.now() + LAST_ANSWER_MS;
  while (pending.size > 0 && performance.now() < deadlineMs) await sleep(5);
  for (const giveUp of [...pending]) giveUp();
}

/** Sends `count` requests, each after the answer to the one before: a warm-up, not a load. Failures are left out. */
export async function runOneByOne(sender: RequestSender, count: number): Promise<HttpAnswer[]> {
  const answers: HttpAnswer[] = [];
  for (let sent = 0; sent < count; sent++) {
    const end = await endOf(sender);
    if ("answer" in end) answers.push(end.answer);
  }
  return answers;
}

function endOf(sender: RequestSender): Promise<RequestEnd> {
  return new Promise((resolve) => {
    const giveUp = sender.send((end) => {
      clearTimeout(timer);
      resolve(end);
    });
    const timer = setTimeout(giveUp, LAST_ANSWER_MS);
  });
}
