// Part of shedding: a bucket in front of a service.
import { createRateLimiter, memoryStore } from "spillway";
import { manualClock } from "spillway/testing";
import { between, type Findings, type LabMark } from "./experiment.ts";

const BUCKET = { limit: 70, period: 1000, burst: 20 } as const;

/** A bucket in front: never more than its burst and its rate, and nearly all of that. */
export async function bucketRows(): Promise<{ readonly table: Findings["tables"][number]; readonly marks: LabMark[] }> {
  const bound = BUCKET.burst + BUCKET.limit * 10;
  const rows: (string | number)[][] = [];
  const marks: LabMark[] = [];
  for (const [perSecond, known] of [
    [100, 719],
    [240, 717],
    [400, 719],
  ] as const) {
    const admitted = await throughBucket(perSecond);
    rows.push([`${perSecond}/s`, known, admitted, bound, (admitted / bound).toFixed(4)]);
    marks.push(between(`bucket of 70/s and 20, ${perSecond}/s: admitted`, admitted, 0.995 * bound, bound));
  }
  const caption = "A bucket of 70/s and 20 in front, 10 s, virtual clock";
  return { table: { caption, columns: ["offered", "known", "admitted", "bound", "admitted / bound"], rows }, marks };
}

async function throughBucket(perSecond: number): Promise<number> {
  const clock = manualClock();
  const limiter = createRateLimiter({
    ...{ policies: { name: "bucket", algorithm: "token-bucket", ...BUCKET }, store: memoryStore({ clock }), clock },
  });
  let admitted = 0;
  for (let i = 0; i < perSecond * 10; i++) {
    if (i > 0) clock.advance(1000 / perSecond);
    if ((await limiter.consume("key")).allowed) admitted++;
  }
  await limiter.close();
  return admitted;
}
