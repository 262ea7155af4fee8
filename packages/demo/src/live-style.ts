import { WORKER_COLOURS } from "./plot-live.ts";

/** What the live page adds to the report's style sheet: a colour for each worker, and the controls. */
export const LIVE_STYLE: string = `
:root { --w0: #2f6fb7; --w1: #3f9c86; --w2: #8a5bb5; --w3: #c9a227; --w4: #7d93ab; --w5: #86ad4f; --w6: #b5729d; --w7: #7f7f7f; }
@media (prefers-color-scheme: dark) {
  :root { --w0: #5b9bdf; --w1: #55bfa5; --w2: #b48de0; --w3: #e0c050; --w4: #93a9c2; --w5: #a5cb70; --w6: #d590bb; --w7: #a0a0a0; }
}
${Array.from({ length: WORKER_COLOURS }, (_, index) => workerRules(index)).join("\n")}
svg .away { fill: var(--limit); }
.key i.away { height: 4px; border-radius: 0; background: var(--limit); }
.controls { display: flex; flex-wrap: wrap; gap: 10px 16px; align-items: center; }
.controls + .controls { margin-top: 12px; }
#state { margin: 12px 0; }
.controls label { display: inline-flex; gap: 8px; align-items: center; color: var(--soft); font-size: 14px; }
.controls input { width: 84px; }
output { display: block; margin-top: 8px; color: var(--bad); }
output:empty { display: none; }
input, select, button { font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--axis); border-radius: 6px; padding: 4px 10px; }
button { cursor: pointer; }
button:hover { border-color: var(--ink); }
.plot { aspect-ratio: 520 / 220; }
.note { margin: 6px 0 0; }
#events { margin: 0; list-style: none; padding: 0; font-variant-numeric: tabular-nums; }
pre { margin: 0; overflow-x: auto; font-size: 13px; }
`;

function workerRules(index: number): string {
  return `.key i.worker-${index} { background: var(--w${index}); } svg .worker-${index} { fill: var(--w${index}); }`;
}
