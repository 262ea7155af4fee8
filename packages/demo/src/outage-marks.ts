import { demandIsAbove, type Judge, limitPerSecond, type Mark } from "./marks.ts";

/** At least this part of what the limit allows is admitted, with the store and without. */
const USED = 0.8;

/** The fleet stays at the limit while the store is out of reach, says so on every such answer, and goes on afterwards. */
export const judgeOutage: Judge = (run, judging) => {
  const { outage, admitted, bound } = run;
  if (outage === null) return [{ kind: "ceiling", text: "the store should be out of reach for a while", held: false }];
  const marks: Mark[] = [
    {
      kind: "ceiling",
      text: `admitted ${admitted}, never above the bound of ${bound.toFixed(1)}, with the store, without it and back again`,
      held: admitted <= bound,
    },
    {
      kind: "floor",
      text: `${outage.degraded} of the ${outage.offered} requests sent in the outage were decided without the store, and say so`,
      held: outage.degraded >= USED * outage.offered,
    },
  ];
  if (!demandIsAbove(judging, 1)) return marks;
  const during = limitPerSecond(judging.shape) * (outage.toSecond - outage.fromSecond);
  return [...marks, used(outage.admitted, during, "rate x time, in the outage"), used(admitted, bound, "the bound")];
};

function used(admitted: number, allowed: number, what: string): Mark {
  const least = USED * allowed;
  const text = `admitted ${admitted}, at least ${least.toFixed(1)} (80 % of ${what})`;
  return { kind: "floor", text, held: admitted >= least };
}
