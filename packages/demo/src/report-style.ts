/** The report's style sheet: system fonts, and colours for light and dark. */
export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f7f7f5; --card: #ffffff; --edge: #e2e2dd;
  --ink: #1b1d1f; --soft: #5c6166; --grid: #e7e8e4; --axis: #a9adb0;
  --bar: #2f6fb7; --on-bar: #ffffff; --behind: #e3e7ec; --limit: #c2410c;
  --good: #2e7d4f; --bad: #b3261e; --span: #f4a77330;
  --line-1: #1f8a70; --line-2: #8a5bb5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --edge: #30363c;
    --ink: #eceef0; --soft: #a3abb3; --grid: #2a3036; --axis: #5b646c;
    --bar: #5b9bdf; --on-bar: #0d1a28; --behind: #2b323a; --limit: #ff9a62;
    --good: #6cc991; --bad: #ff8a80; --span: #ff9a6226;
    --line-1: #4cc3a4; --line-2: #c39be8;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 24px 56px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 18px; margin: 36px 0 4px; }
h3 { font-size: 15px; margin: 0 0 8px; }
h3 small { font-weight: 400; color: var(--soft); font-size: 13px; }
p { margin: 0 0 12px; max-width: 110ch; }
.soft { color: var(--soft); }
.tiles, .plots { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.close-up { margin-top: 16px; }
.tiles { margin-top: 20px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 250px), 1fr)); }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 16px 18px; min-width: 0; }
.tile b { display: block; font-size: 34px; line-height: 1.2; font-weight: 600; }
.tile b small { font-size: 17px; font-weight: 400; }
.tile.over b { color: var(--limit); }
.tile p { margin: 2px 0 0; }
.key { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 12px; color: var(--soft); font-size: 13px; }
.key span { display: inline-flex; align-items: center; gap: 7px; }
.key i { width: 14px; height: 12px; border-radius: 2px; background: var(--bar); }
.key i.behind { background: var(--behind); border: 1px solid var(--edge); }
.key i.limit { height: 0; width: 18px; border-radius: 0; background: none; border-top: 2px dashed var(--limit); }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-family: inherit; font-size: 13px; fill: var(--ink); font-variant-numeric: tabular-nums; }
svg .tick { fill: var(--soft); font-size: 12px; }
svg .grid { stroke: var(--grid); }
svg .axis { stroke: var(--axis); }
svg .behind { fill: var(--behind); }
svg .bar { fill: var(--bar); }
svg .hit { fill: transparent; }
svg g:hover > .bar { opacity: 0.8; }
svg .on-bar { fill: var(--on-bar); font-size: 12px; }
svg .limit { stroke: var(--limit); stroke-width: 1.75; stroke-dasharray: 5 4; }
svg .halo { stroke: var(--card); stroke-width: 3; opacity: 0.7; }
svg .span { fill: var(--span); }
svg .span-label { fill: var(--limit); font-size: 12px; }
svg polyline { fill: none; stroke-width: 2; }
svg circle { stroke: var(--card); stroke-width: 1.5; }
svg polyline.line-0 { stroke: var(--bar); } svg :is(circle, text).line-0 { fill: var(--bar); }
svg polyline.line-1 { stroke: var(--line-1); } svg :is(circle, text).line-1 { fill: var(--line-1); }
svg polyline.line-2 { stroke: var(--line-2); stroke-dasharray: 6 3; } svg :is(circle, text).line-2 { fill: var(--line-2); }
svg .line-label { font-weight: 600; }
svg .limit-label { fill: var(--limit); font-weight: 600; }
svg .total { font-weight: 600; }
.scroll { overflow-x: auto; }
.scroll svg { min-width: 680px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 7px 8px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--edge); }
th { color: var(--soft); font-weight: 500; font-size: 13px; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tbody tr:last-child td { border-bottom: 0; }
ul.marks { list-style: none; margin: 0; padding: 0; }
ul.marks li { padding: 3px 0 3px 62px; text-indent: -62px; }
.held, .missed { display: inline-block; min-width: 62px; text-indent: 0; font-weight: 600; }
.held { color: var(--good); }
.missed { color: var(--bad); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 20px; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; max-width: 110ch; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 10px; } }
@media print { body { background: none; } .card { break-inside: avoid; } }
`;
