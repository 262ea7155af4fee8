import { setTimeout as sleep } from "node:timers/promises";
import type { HttpAnswer } from "./http-answer.ts";
import { LoadTally } from "./load-result.ts";
import { type PreparedRequest, type RequestEnd, sendRequest } from "./one-request.ts";

/** How long after the last request an answer may still come. */
const LAST_ANSWER_MS = 5000;

/**
 * Sends requests at their due instants, whether or not earlier ones came back. A late timer sends all that is due at once,
 * and the lateness is measured from the due instants, so a stall of the server (or of the generator) hides nothing.
 * @param dueMs ascending, in ms since the start.
 * @param onStart called when time begins to count, with the tally as it grows.
 */
export async function runOpenLoop(
  request: PreparedRequest,
  dueMs: readonly number[],
  seconds: number,
  onStart: (tally: LoadTally) => void,
): Promise<LoadTally> {
  const tally = new LoadTally(seconds);
  const pending = new Set<() => void>();
  onStart(tally);
  const startMs = performance.now();
  let next = 0;
  while (next < dueMs.length) {
    const waitMs = startMs + dueMs[next]! - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    for (; next < dueMs.length && startMs + dueMs[next]! <= performance.now(); next++)
      sendOne(request, startMs + dueMs[next]!, tally, pending);
  }
  await allEnded(pending);
  return tally;
}

function sendOne(request: PreparedRequest, dueMs: number, tally: LoadTally, pending: Set<() => void>): void {
  const sentMs = performance.now();
  tally.sent(dueMs, sentMs);
  const giveUp = sendRequest(request, (end) => {
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
export async function runOneByOne(request: PreparedRequest, count: number): Promise<HttpAnswer[]> {
  const answers: HttpAnswer[] = [];
  for (let sent = 0; sent < count; sent++) {
    const end = await endOf(request);
    if ("answer" in end) answers.push(end.answer);
  }
  return answers;
}

function endOf(request: PreparedRequest): Promise<RequestEnd> {
  return new Promise((resolve) => {
    const giveUp = sendRequest(request, (end) => {
      clearTimeout(timer);
      resolve(end);
    });
    const timer = setTimeout(giveUp, LAST_ANSWER_MS);
  });
}
