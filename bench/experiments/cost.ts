// What does it cost to be let in, to be turned away, and to be asked by the load generator of this lab?
import { availableParallelism, loadavg } from "node:os";
import { bulkhead } from "cockatiel";
import PQueue from "p-queue";
import { type CaseResult, caseResult } from "../harness/document.ts";
import { runHeat } from "../harness/heat.ts";
import type { Contestant, Heat } from "../harness/question.ts";
import { inSlices } from "../harness/slices.ts";
import { Workbench } from "../harness/workbench.ts";
import { admissionCost } from "../questions/admission-cost.ts";
import { httpShed } from "../questions/http-shed.ts";
import { atLeast, atMost, type Experiment, type Findings, type Lab, type LabMark } from "./experiment.ts";
import { percentile } from "./load/load-tally.ts";
import { measure, onThisMachine } from "./load/measure.ts";
import { offerLoad } from "./load/open-loop.ts";
import { breakerOf } from "./load/protections.ts";
import { Service } from "./load/service.ts";

const SLICE = 200;
/** The least that a hook of Fastify's can do to turn a request away. */
const FLOOR = "Fastify, raw reply in a hook";

/** CPU in ns of an earlier run on a machine like this, where one is known. */
const KNOWN: Readonly<Record<string, string>> = {
  "bare loop": "60",
  "spillway acquireNow": "238 (a prototype)",
  "spillway full line": "102 (a prototype)",
  "bulkhead, let in": "113",
  "bulkhead, turned away": "4,752",
  "opossum, let in": "493",
  "p-queue, let in": "1,224",
};

export const cost: Experiment = {
  name: "cost",
  asks: "what it costs to be let in and to be turned away, and what the load generator adds",
  run: runCost,
};

async function runCost(lab: Lab): Promise<Findings> {
  const bench = new Workbench(lab.quick, lab.say);
  const cases: CaseResult[] = [];
  const rounds = lab.quick ? 5 : 11;
  const roundMs = lab.quick ? 60 : 200;
  try {
    for (const heat of [...admissionCost.heats(bench), async () => peersHeat()])
      cases.push(...(await casesOf("cost", await heat(), { rounds, roundMs })));
    for (const heat of httpShed.heats(bench))
      cases.push(...(await casesOf("http-shed", await heat(), { rounds: lab.quick ? 5 : 11, roundMs: 4 * roundMs })));
  } finally {
    await bench.close();
  }
  const generator = await checkGenerator(lab);
  return {
    tables: [inProcess(cases), refusals(cases), generator.table],
    plots: [],
    marks: [
      ...cases.flatMap(({ name, marks, ratios }) =>
        marks.map(({ met, text }) => ({
          ...{ met, text: `${name}: ${text} (${ratioTo(text, ratios)})` },
          ...(!met && isCrowded() ? { isUnsure: true } : {}),
        })),
      ),
      ...generator.marks,
    ],
    summary: summaryOf(cases),
  };
}

/** Whether more wants to run than this experiment itself: a server, who asks it, and some room. */
function isCrowded(): boolean {
  return (loadavg()[0] ?? 0) > 1.5 * availableParallelism() + 1;
}

async function casesOf(
  question: string,
  heat: Heat,
  options: { rounds: number; roundMs: number },
): Promise<CaseResult[]> {
  try {
    const result = await runHeat(heat, options);
    return heat.cases.map((definition) => caseResult(question, definition, result));
  } finally {
    for (const contestant of heat.contestants) await contestant.close?.();
  }
}

/** A mark ends with the name of the peer it is about. */
function ratioTo(mark: string, ratios: Readonly<Record<string, number>>): string {
  return (Object.entries(ratios).find(([peer]) => mark.endsWith(peer))?.[1] ?? Number.NaN).toFixed(2);
}

function caseNamed(cases: readonly CaseResult[], name: string): CaseResult | undefined {
  return cases.find((one) => one.name === name);
}

function inProcess(cases: readonly CaseResult[]): Findings["tables"][number] {
  const rows: (string | number)[][] = [];
  const seen = new Set<string>();
  for (const { unit, ours, contestant, peers, ratios } of cases) {
    if (unit !== "CPU ns/request") continue;
    for (const [name, value] of [[contestant, ours] as const, ...Object.entries(peers)]) {
      if (seen.has(name) || value === null) continue;
      seen.add(name);
      const bare = peers["bare loop"];
      const ratio =
        bare === undefined || name === "bare loop"
          ? ""
          : (name === contestant ? (ratios["bare loop"] ?? Number.NaN) : value / bare).toFixed(2);
      rows.push([name, KNOWN[name] ?? "", Math.round(value), ratio]);
    }
  }
  return {
    caption: "CPU time of a request in this process, in ns",
    columns: ["who", "known", "this machine", "of a bare loop"],
    rows,
  };
}

function refusals(cases: readonly CaseResult[]): Findings["tables"][number] {
  const rate = caseNamed(cases, "http-shed/fastify");
  const cpu = caseNamed(cases, "http-shed/fastify/cpu");
  const rows = [
    ["503s per second, Fastify plugin", "57,700", Math.round(rate?.ours ?? Number.NaN).toLocaleString("en-US")],
    [
      "503s per second, raw node:http",
      "60,900",
      Math.round(rate?.peers["raw node:http"] ?? Number.NaN).toLocaleString("en-US"),
    ],
    ["Fastify plugin / raw node:http", "0.95", (rate?.ratios["raw node:http"] ?? Number.NaN).toFixed(2)],
    [`Fastify plugin / ${FLOOR}`, "", (rate?.ratios[FLOOR] ?? Number.NaN).toFixed(2)],
    ["CPU us a 503, Fastify plugin", "", (cpu?.ours ?? Number.NaN).toFixed(1)],
    [`CPU us a 503, ${FLOOR}`, "", (cpu?.peers[FLOOR] ?? Number.NaN).toFixed(1)],
    ["CPU us a 503, Fastify reply.send", "", (cpu?.peers["Fastify reply.send"] ?? Number.NaN).toFixed(1)],
  ];
  return { caption: "Turning away over HTTP", columns: ["", "known", "this machine"], rows };
}

function summaryOf(cases: readonly CaseResult[]): string {
  const ratio = (name: string, peer: string): string => (caseNamed(cases, name)?.ratios[peer] ?? Number.NaN).toFixed(2);
  return (
    `Being let in costs ${ratio("admission-cost/admit", "bare loop")} times a bare loop, being turned away ${ratio("admission-cost/reject", "bare loop")} times; ` +
    `Fastify turns away ${ratio("http-shed/fastify", "raw node:http")} times as fast as raw node:http.`
  );
}

const nothing = async (): Promise<void> => {};

/** The peers at the same work, beside a bare loop of their own. */
async function peersHeat(): Promise<Heat> {
  const [bare, ...peers] = [bareLoop(), bulkheadIn(), bulkheadAway(), opossumIn(), queueIn()];
  const unit = { unit: "CPU ns/request", better: "less", peers: [bare.name] } as const;
  return {
    contestants: [bare, ...peers],
    cases: peers.map(({ name }) => ({
      ...{ name: `cost/${name}`, ...unit, ours: name },
      value: ({ cpuMs, operations }) => (cpuMs * 1e6) / operations,
    })),
  };
}

function looped(name: string, one: () => Promise<unknown>): Contestant {
  return {
    name,
    check: async () => undefined,
    run: ({ ms }) =>
      inSlices(ms, async () => {
        for (let i = 0; i < SLICE; i++) await one();
        return SLICE;
      }),
  };
}

function bareLoop(): Contestant {
  return looped("bare loop", nothing);
}

function bulkheadIn(): Contestant {
  const policy = bulkhead(8, 16);
  return looped("bulkhead, let in", () => policy.execute(nothing));
}

function bulkheadAway(): Contestant {
  const policy = bulkhead(1, 0);
  void policy.execute(() => new Promise<void>(() => {}));
  return looped("bulkhead, turned away", () => policy.execute(nothing).catch(nothing));
}

function opossumIn(): Contestant {
  const breaker = breakerOf(8);
  return {
    ...looped("opossum, let in", () => breaker.fire(nothing)),
    close: async () => breaker.shutdown(),
  };
}

function queueIn(): Contestant {
  const queue = new PQueue({ concurrency: 8 });
  return looped("p-queue, let in", () => queue.add(nothing));
}

const SELF_CHECK_PER_SECOND = 2000;
const STALL_MS = 1000;

/** Whether requests leave on time, and whether a service that stands still is seen by all who come meanwhile. */
async function checkGenerator(
  lab: Lab,
): Promise<{ readonly table: Findings["tables"][number]; readonly marks: readonly LabMark[] }> {
  const idle = {
    form: "node:http",
    protection: { kind: "none" },
    work: { kind: "sleep", ms: 0, slots: 1000 },
  } as const;
  const fast = await measure(lab, "2,000/s", idle, {
    phases: [{ name: "fast", perSecond: SELF_CHECK_PER_SECOND, seconds: 3 }],
    patienceMs: 1000,
  });
  const seconds = 4;
  const load = { phases: [{ name: "stall", perSecond: 100, seconds }], patienceMs: 5000 };
  const stalled = await Service.with(idle, async (service) => {
    const [result] = await Promise.all([offerLoad({ ...load, url: service.url }), service.stall(STALL_MS)]);
    return result;
  });
  const waits = stalled.phases[0]?.servedMs ?? new Float64Array();
  const seen = waits.filter((ms) => ms > 100).length / waits.length;
  const expected = (STALL_MS - 100) / (seconds * 1000);
  return {
    table: {
      caption: "The load generator itself",
      columns: ["", "mark", "this machine"],
      rows: [
        ["2,000/s: sent late, p99 in ms", "2", fast.load.lateSendP99Ms.toFixed(2)],
        ["1 s of stall in 4 s: part of the requests that wait above 100 ms", expected.toFixed(3), seen.toFixed(3)],
        [
          "1 s of stall in 4 s: p90 of waits in ms (who asks one after another sees one slow answer)",
          "",
          Math.round(percentile(waits, 0.9)),
        ],
      ],
    },
    marks: [
      onThisMachine(atMost("generator at 2,000/s: sent late, p99 in ms", fast.load.lateSendP99Ms, 2), fast),
      atLeast("generator: part of the requests that see a stall of 1 s in 4 s", seen, expected * 0.9),
    ],
  };
}
