import { createAdmission, type Order } from "@spillway/admission";
import { expect, it } from "vitest";
import { virtualClock } from "../../bench/simulator/virtual-clock.ts";
import { VirtualLoop } from "../../bench/simulator/virtual-loop.ts";

const SLOTS = 8;
const WORK_MS = 100;

/** Callers who all come at once, and come back when they are told to. */
async function storm(callers: number, order: Order) {
  const loop = new VirtualLoop();
  const clock = virtualClock(loop, 0);
  const admission = createAdmission({ slots: SLOTS, guessMs: WORK_MS, order, clock, random: () => 0.5 });
  const result = { attempts: 0, served: 0, lastMs: 0, toldNotToRetry: 0 };
  const attempt = (): void => {
    result.attempts++;
    admission.enter((answer) => {
      if (!answer.admitted) {
        if (answer.shouldRetry) loop.after(answer.retryAfterMs, attempt);
        else result.toldNotToRetry++;
        return;
      }
      loop.after(WORK_MS, () => {
        answer.release();
        result.served++;
        result.lastMs = loop.nowMs;
      });
    });
  };
  for (let i = 0; i < callers; i++) loop.at(0, attempt);
  await loop.runUntil(120_000);
  return result;
}

it.each<[number, Order]>([
  [400, "fifo"],
  [400, "adaptive"],
  [2000, "fifo"],
  [2000, "adaptive"],
])(
  "%s callers at once in %s order are all served on their second try, hardly later than at best",
  async (callers, order) => {
    const { attempts, served, lastMs, toldNotToRetry } = await storm(callers, order);
    expect([served, toldNotToRetry]).toEqual([callers, 0]);
    expect(attempts / callers).toBeLessThanOrEqual(2);
    expect(lastMs).toBeLessThanOrEqual(1.03 * (callers / SLOTS) * WORK_MS);
  },
);
