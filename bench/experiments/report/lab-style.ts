/** Colours that stay apart for colour-blind readers, in light and dark. */
const LIGHT = ["#0b62a8", "#c4500c", "#0f7b4b", "#9b2f7f", "#7a5c00", "#4d55c9", "#a3262e", "#4a4a4a"];
const DARK = ["#6db7f2", "#f59a5b", "#59cf98", "#e58bc9", "#d9b84a", "#a4a9ff", "#f08a8f", "#bdbdbd"];

const lines = (colours: readonly string[]): string =>
  colours.map((colour, i) => `.line.s${i}{stroke:${colour}}.name.s${i}{fill:${colour}}`).join("");

/** The style of the lab's page. */
export const LAB_STYLE: string = `
:root{--ink:#1b1f24;--soft:#5c6570;--ground:#fff;--card:#f6f7f9;--rule:#d9dde2;--level:#a3262e;color-scheme:light dark}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:900px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:20px;margin:40px 0 4px}
.soft,caption,figcaption,.tick,.axis-label{color:var(--soft);fill:var(--soft)}
figure{margin:12px 0;padding:12px;background:var(--card);border-radius:8px}
figcaption,caption{text-align:left;font-size:13px;padding-bottom:6px}
svg{display:block;width:100%;height:auto}svg text{font-size:12px}
.grid{stroke:var(--rule)}.axis{stroke:var(--soft)}.line{fill:none;stroke-width:2}
.level{stroke:var(--level);stroke-dasharray:5 4}.level-label{fill:var(--level)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13.5px;margin:12px 0}
th,td{padding:4px 10px;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}
ul.contents,ul.marks{list-style:none;padding:0}
.met,.missed{display:inline-block;min-width:52px;font-size:12px}.met{color:#0f7b4b}.missed{color:var(--level);font-weight:600}
${lines(LIGHT)}
@media (prefers-color-scheme:dark){
:root{--ink:#e6e9ed;--soft:#9aa4af;--ground:#14171a;--card:#1c2024;--rule:#343b42;--level:#f08a8f}.met{color:#59cf98}
${lines(DARK)}}
`;
