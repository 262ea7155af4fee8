import { describe, expect, it } from "vitest";
import type { DemoDocument, DemoRun } from "./document.ts";
import { missedMarks } from "./document.ts";
import { binned } from "./plot-per-second.ts";
import { renderReport } from "./report.ts";
import { renderMarks, renderTable } from "./table.ts";

const PUNCTUAL = { p50Ms: 0.51, p99Ms: 1.72, maxMs: 4.83 };

const LEAK: DemoRun = {
  mode: "per-process",
  offered: 4012,
  admitted: 2871,
  refused: 1141,
  failures: {},
  bound: 720.4,
  ratio: 3.985,
  spanMs: 10_005.7,
  storeCalls: 0,
  callsPerDecision: 0,
  perWorker: [717, 718, 719, 716],
  decisionP50Ms: 0.04,
  decisionP99Ms: 0.13,
  requestP50Ms: 1.58,
  requestP99Ms: 4.92,
  degraded: 0,
  sources: { store: 4012 },
  outage: null,
  offeredPerSecond: [401, 402],
  admittedPerSecond: [353, 279],
  storeCallsPerSecond: [0, 0],
  scheduleError: PUNCTUAL,
  marks: [{ kind: "floor", text: "the leak shows", held: true }],
  attempts: 1,
};

const FIX: DemoRun = {
  ...LEAK,
  mode: "exact",
  admitted: 733,
  ratio: 1.018,
  storeCalls: 3010,
  callsPerDecision: 0.75,
  perWorker: [183, 184, 185, 181],
  admittedPerSecond: [91, 73],
  storeCallsPerSecond: [299.6, 294.8],
  degraded: 6,
  marks: [{ kind: "ceiling", text: "admitted 733, never above the bound of 720.4", held: false }],
  attempts: 2,
};

const OUTAGE: DemoRun = {
  ...LEAK,
  mode: "outage",
  admitted: 705,
  ratio: 0.978,
  storeCalls: 700,
  callsPerDecision: 0.174,
  degraded: 1190,
  sources: { backstop: 1190, "denial-cache": 2000, store: 822 },
  admittedPerSecond: [92, 74],
  storeCallsPerSecond: [120, 0],
  outage: {
    fromSecond: 0.8,
    toSecond: 1.4,
    offered: 1203,
    admitted: 212,
    degraded: 1190,
    decisionP50Ms: 0.06,
    decisionP99Ms: 0.42,
    awayPerWorker: [],
  },
  marks: [{ kind: "ceiling", text: "stays at the limit", held: true }],
  attempts: 1,
};

const DOCUMENT: DemoDocument = {
  limit: 70,
  period: "1s",
  periodMs: 1000,
  burst: 20,
  seconds: 10,
  workers: 4,
  offeredPerSecond: 400,
  seed: 98_765,
  connection: "one per request",
  store: { kind: "redis", version: "7.0.15", from: "a <private> server" },
  node: "v20.20.2",
  startedAt: "2026-01-02T03:04:05.678Z",
  runs: [LEAK, FIX, OUTAGE],
  skipped: [{ mode: "lease", reason: "of a <reason>" }],
};

describe("renderReport", () => {
  const html = renderReport(DOCUMENT);

  it("has a bar for each second of each mode, with its figures", () => {
    for (const [admitted, offered] of [
      [353, 401],
      [279, 402],
      [91, 401],
      [73, 402],
      [92, 401],
    ])
      expect(html).toContain(`${admitted} admitted per second, ${offered} offered</title>`);
  });

  it("draws the calls of all modes that share a store in one plot, with what a decision took", () => {
    expect(html).toContain("exact, second 1: 299.6 calls per second</title>");
    expect(html).toContain("outage, second 2: 0 calls per second</title>");
    expect(html).not.toContain("per-process, second 1:");
    expect(html).toContain(">exact, 0.75 per decision</text>");
    expect(html).toContain(">outage, 0.174 per decision</text>");
    expect(html.match(/<polyline/g)).toHaveLength(2);
  });

  it("keeps the labels of lines apart that end at the same height", () => {
    const same = { ...FIX, storeCallsPerSecond: [10, 0] };
    const page = renderReport({ ...DOCUMENT, runs: [same, { ...same, mode: "lease" }, OUTAGE] });
    const heights = [...page.matchAll(/class="line-label[^>]*y="([\d.]+)"/g)].map((match) => Number(match[1]));
    const [lowest, middle, highest] = heights.sort((one, other) => other - one);
    expect(lowest! - middle!).toBeGreaterThanOrEqual(15);
    expect(middle! - highest!).toBeGreaterThanOrEqual(15);
    expect(lowest).toBeLessThan(250);
  });

  it("marks the outage where it was, and says how decisions went meanwhile", () => {
    expect(html.match(/class="span"/g)).toHaveLength(2);
    expect(html).toContain(">store out of reach</text>");
    expect(html).toContain("<h3>outage, close up</h3>");
    expect(html).toContain("705 admitted, 720 allowed");
    expect(html).toContain("Of 1,203 requests sent meanwhile 1,190 were decided without it and 212 admitted");
    expect(html).toContain("decision p50 / p99 0.06 / 0.42 ms");
  });

  it("shows a run above its bound in the colour of the limit, with an outage as without", () => {
    const tiles = (one: DemoDocument) => renderReport(one).match(/tile over/g)?.length ?? 0;
    expect(tiles(DOCUMENT)).toBe(2);
    const missed = { ...OUTAGE, marks: [{ ...OUTAGE.marks[0]!, held: false }] };
    expect(tiles({ ...DOCUMENT, runs: [missed] })).toBe(1);
    expect(tiles({ ...DOCUMENT, runs: [OUTAGE] })).toBe(0);
  });

  it("names what was left out, and why", () => {
    expect(html).toContain("<dt>Left out</dt><dd>lease: of a");
  });

  it("draws the limit and the bound, and what each worker admitted", () => {
    expect(html.match(/>limit 70\/s</g)).toHaveLength(4);
    expect(html).toContain(">bound 720<");
    for (const [index, admitted] of FIX.perWorker.entries())
      expect(html).toContain(`exact, worker ${index + 1}: ${admitted} admitted`);
  });

  it("says how it was measured: seed, connections, schedule error, store", () => {
    expect(html).toContain("seed 98765");
    expect(html).toContain("Keep-alive would");
    const kept = renderReport({ ...DOCUMENT, connection: "kept open, dealt out evenly" });
    expect(kept).toContain("Kept open, as many to each worker");
    expect(html).toContain("exact 0.51 / 1.72 / 4.83 ms");
    expect(html).toContain("redis 7.0.15");
    expect(html).toContain("per-process measured once; exact measured 2 times");
  });

  it("shows which marks were missed", () => {
    expect(html).toContain('<span class="held">held</span>per-process: the leak shows');
    expect(html).toContain('<span class="missed">missed</span>exact: admitted 733');
  });

  it("needs nothing else: no script, no link, no address", () => {
    expect(html).not.toMatch(/<script|<link|<img|https?:|url\(|@import/);
  });

  it("lets no markup of a value through", () => {
    expect(html).not.toMatch(/<private>|<reason>/);
    expect(html).toContain("private");
  });

  it("leaves Redis out when no mode needed it", () => {
    expect(renderReport({ ...DOCUMENT, store: null, runs: [LEAK] })).not.toContain("Redis calls each second");
    const embedded = { kind: "embedded", version: "v20", from: "here" } as const;
    expect(renderReport({ ...DOCUMENT, store: embedded })).toContain("Store calls each second");
  });
});

describe("binned", () => {
  it("keeps seconds as they are while there is room, and averages them beyond", () => {
    expect(binned([5, 7], 2)).toEqual([
      { fromSecond: 0, toSecond: 1, perSecond: 5 },
      { fromSecond: 1, toSecond: 2, perSecond: 7 },
    ]);
    expect(binned([5, 7, 1], 2)).toEqual([
      { fromSecond: 0, toSecond: 2, perSecond: 6 },
      { fromSecond: 2, toSecond: 3, perSecond: 1 },
    ]);
  });
});

describe("renderTable", () => {
  const lines = renderTable(DOCUMENT).split("\n");

  it("has a row for each mode under one head", () => {
    const head = lines.findIndex((line) => line.startsWith("mode"));
    const cells = (line: string | undefined) => line?.split(/ {2,}/);
    expect(cells(lines[head])?.slice(0, 5)).toEqual(["mode", "offered", "admitted", "bound", "admitted/bound"]);
    expect(cells(lines[head + 2])).toEqual([
      "per-process",
      "4012",
      "2871",
      "720.4",
      "3.985",
      "0.000",
      "0.04 / 0.13",
      "1.58 / 4.92",
      "0",
    ]);
    expect(cells(lines[head + 3])?.at(-1)).toBe("6");
  });

  it("prints seed, store, workers' shares and schedule error", () => {
    const text = lines.join("\n");
    expect(text).toContain("seed 98765");
    expect(text).toContain("Store: redis 7.0.15");
    expect(text).toContain("Connections: one per request.");
    expect(text).toContain("lease is left out: of a <reason>.");
    expect(text).toContain(
      "exact: admitted per worker 183, 184, 185, 181; schedule error p50 0.51 ms, p99 1.72 ms, max 4.83 ms",
    );
    expect(text).toContain("exact: measured 2 times, the last one counts");
    expect(text).toContain("outage: decided by denial-cache 2000, backstop 1190, store 822");
    expect(text).toContain("no store from 0.8 to 1.4 s: 1203 offered, 212 admitted (rate x time 42.0), 1190 degraded");
  });

  it("fits a wide terminal", () => {
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(125);
  });
});

describe("marks", () => {
  it("are listed, and the missed ones counted", () => {
    expect(renderMarks(DOCUMENT).split("\n")).toEqual([
      "ok     per-process: the leak shows",
      "MISSED exact: admitted 733, never above the bound of 720.4",
      "ok     outage: stays at the limit",
    ]);
    expect(missedMarks(DOCUMENT)).toEqual(["exact: admitted 733, never above the bound of 720.4"]);
  });
});
