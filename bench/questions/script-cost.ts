// What does one call of the script cost the server, beside the least that a correct script can do?
import { minimalGcra } from "../contestants/minimal-gcra.ts";
import { gcraCommands, scriptContestant } from "../contestants/script-load.ts";
import { SCRIPT_CALLS, spillwayCommands } from "../contestants/spillway-script.ts";
import { loadInternals } from "../harness/internals.ts";
import { type CaseDefinition, type Heat, perSecond, type Question, type Sample } from "../harness/question.ts";
import type { Workbench } from "../harness/workbench.ts";

const FLOOR = "minimal GCRA";
/** At least so much of the floor's throughput, and at most so many times its time in the server. */
const MARKS: Readonly<Record<string, { readonly throughput: number; readonly serverTime?: number }>> = {
  "exact-bucket": { throughput: 0.8, serverTime: 1.3 },
  leased: { throughput: 0.55 },
  "leased-two-policies": { throughput: 0.4 },
};

export const scriptCost: Question = {
  name: "script-cost",
  asks: "what a call of the script costs the server, on 4 connections with 16 calls in flight each",
  heats: (bench) => [() => heatOf(bench)],
};

async function heatOf(bench: Workbench): Promise<Heat> {
  const redis = await bench.redis();
  const internals = await loadInternals();
  await redis.flush();
  const floor = scriptContestant(FLOOR, redis, minimalGcra.text, 1, gcraCommands());
  const ours = SCRIPT_CALLS.map((call) =>
    scriptContestant(call.name, redis, internals.take.text, call.keys, spillwayCommands(internals, call)),
  );
  return {
    contestants: [floor, ...ours],
    counters: () => redis.counters(),
    cases: SCRIPT_CALLS.flatMap(({ name, keys }) => casesOf(name, keys)),
  };
}

function casesOf(name: string, keys: number): CaseDefinition[] {
  const marks = MARKS[name];
  const each = keys === 1 ? "call" : "key";
  return [
    {
      name: `script-cost/${name}/throughput`,
      unit: `${each}s/s`,
      better: "more",
      ours: name,
      peers: [FLOOR],
      value: perSecond,
      ...(marks === undefined ? {} : { marks: [{ peer: FLOOR, atLeast: marks.throughput }] }),
    },
    {
      name: `script-cost/${name}/server-time`,
      unit: `us/${each}`,
      better: "less",
      ours: name,
      peers: [FLOOR],
      value: serverUs,
      ...(marks?.serverTime === undefined ? {} : { marks: [{ peer: FLOOR, atMost: marks.serverTime }] }),
    },
  ];
}

/** As the server counts it: the time inside the script, without the protocol. */
function serverUs({ counted, operations }: Sample): number {
  return (counted.scriptUs ?? 0) / operations;
}
