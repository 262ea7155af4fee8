// Part of shedding: the first text's own runs in one process, at twice its capacity, and its probe of that capacity.
import { createAdmission } from "@spillway/admission";
import { virtualClock } from "../simulator/virtual-clock.ts";
import { VirtualLoop } from "../simulator/virtual-loop.ts";
import { atLeast, atMost, between, type Findings, type LabMark } from "./experiment.ts";
import {
  FIRST_LINE,
  FIRST_PATIENCE_MS,
  FIRST_TEXT_COLUMNS,
  FIRST_UNPROTECTED,
  FIRST_WORK_MS,
  firstTextCells,
  OURS_BY_DEFAULT,
  PROBED_PER_SECOND,
  TRUE_PER_SECOND,
} from "./load/first-text.ts";
import { type FloodResult, flood } from "./load/virtual-flood.ts";

const SECONDS = 5;
const PROBE_SECONDS = 3;
/** One round of work of the four slots. */
const BATCH = 4;

/** Twice the capacity for five seconds: the text's service as it was, and behind its line of half a second. */
export async function firstTables(): Promise<Pick<Findings, "tables" | "marks">> {
  const plan = {
    ...{ perSecond: 2 * PROBED_PER_SECOND, seconds: SECONDS, patienceMs: FIRST_PATIENCE_MS },
    workMs: () => FIRST_WORK_MS,
  };
  const none = await flood({ ...plan, admission: FIRST_UNPROTECTED });
  const line = await flood({ ...plan, admission: FIRST_LINE });
  const ours = await flood({ ...plan, admission: OURS_BY_DEFAULT });
  const probed = await probe();
  return {
    tables: [
      {
        caption: `The first text's service, ${PROBED_PER_SECOND}/s by its probe, offered twice that for ${SECONDS} s (virtual clock)`,
        columns: ["run", ...FIRST_TEXT_COLUMNS],
        rows: [
          ["no limits, the text", "23.4", 117, 0, 536, 526, 993, 256, 339],
          ["no limits", ...firstTextCells(none, SECONDS)],
          ["line of 33, the text", "69.6", 348, 305, 0, 588, 620, 0, 33],
          ["line of 33", ...firstTextCells(line, SECONDS)],
          ["ours by default", ...firstTextCells(ours, SECONDS)],
        ],
      },
      {
        caption: `Its probe: callers who ask again at once for ${PROBE_SECONDS} s; what was under way at the end counts (virtual clock)`,
        columns: ["", "the text", "measured"],
        rows: [
          ["finished, and under way at the end", 196, probed],
          ["per second, of what the slots can do", "1.05", (probed / PROBE_SECONDS / TRUE_PER_SECOND).toFixed(2)],
        ],
      },
    ],
    marks: [...marksOf(none, line, ours), between("first text: its probe counts", probed, 196 - BATCH, 196 + BATCH)],
  };
}

function marksOf(none: FloodResult, line: FloodResult, ours: FloodResult): LabMark[] {
  const close = (what: string, value: number, known: number): LabMark =>
    between(`first text, ${what}`, value, 0.9 * known, 1.1 * known);
  const later = none.okByQuarter.slice(4).reduce((sum, count) => sum + (count ?? 0), 0);
  return [
    // The text's work took now more, now less than its mean, so that 117 were in time where even work makes it 112.
    close("no limits: answers in time", none.ok, 117),
    close("no limits: timed out", none.timedOut, 536),
    between("first text, no limits: answers in time of those who came after the first second", later, 0, BATCH),
    close("no limits: longest line", none.peakWaiting, 339),
    close("no limits: wasted as a part of the work that is done until the last caller gave up", wastedPart(none), 0.69),
    close("line of 33: answers in time", line.ok, 348),
    close("line of 33: 503s", line.shed, 305),
    between("first text, line of 33: timed out and wasted", line.timedOut + line.wasted, 0, 0),
    close("line of 33: p50 in ms", median(line), 588),
    atMost("first text, ours by default: p50 in ms", median(ours), 588),
    atLeast("first text, ours by default: answers in time", ours.ok, TRUE_PER_SECOND * SECONDS),
  ];
}

function median({ okMs }: FloodResult): number {
  return okMs[Math.floor(okMs.length / 2)] ?? Number.NaN;
}

/** Until the last caller gives up the slots are busy all the time; what is then done and was not in time is wasted. */
function wastedPart({ ok }: FloodResult): number {
  const done = (SECONDS + FIRST_PATIENCE_MS / 1000) * TRUE_PER_SECOND;
  return (done - ok) / done;
}

/** Callers as many as find work at once, for so long; what is under way at the end is waited for and counted. */
async function probe(): Promise<number> {
  const loop = new VirtualLoop();
  const admission = createAdmission({ ...FIRST_UNPROTECTED, clock: virtualClock(loop, 0) });
  let finished = 0;
  const ask = (): void => {
    if (loop.nowMs >= PROBE_SECONDS * 1000) return;
    admission.enter((permit) => {
      if (!permit.admitted) return;
      loop.after(FIRST_WORK_MS, () => {
        finished++;
        permit.release();
        ask();
      });
    });
  };
  for (let caller = 0; caller < 2 * BATCH; caller++) ask();
  await loop.runUntil(PROBE_SECONDS * 1000 + 10 * FIRST_WORK_MS);
  return finished;
}
