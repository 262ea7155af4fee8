import { type Finished, isMissed, type LabMark, type LabTable } from "../experiment.ts";
import { LAB_STYLE } from "./lab-style.ts";
import { escapeText, renderPlot } from "./line-plot.ts";
import { cellText } from "./text.ts";

/** All findings as one page that needs nothing else: no network, no script. */
export function renderLabPage(finished: readonly Finished[], machine: object): string {
  const contents = finished.map(({ name, findings }) => {
    const missed = findings.marks.filter(isMissed).length;
    const state = missed === 0 ? "met" : `${missed} missed`;
    return `<li><a href="#${name}">${name}</a> <span class="${missed === 0 ? "met" : "missed"}">${state}</span> ${escapeText(findings.summary)}</li>`;
  });
  const about = Object.entries(machine).map(([what, value]) => `${what} ${String(value)}`);
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Spillway lab</title><style>${LAB_STYLE}</style></head><body><main>`,
    "<h1>Spillway lab</h1>",
    `<p class="soft">Measured on this machine: ${escapeText(about.join(", "))}.</p>`,
    `<ul class="contents">${contents.join("\n")}</ul>`,
    ...finished.map(renderExperiment),
    "</main></body></html>",
    "",
  ].join("\n");
}

function renderExperiment({ name, asks, seconds, findings }: Finished): string {
  const marks = findings.marks.map(
    (mark) =>
      `<li><span class="${isMissed(mark) ? "missed" : "met"}">${stateOf(mark)}</span> ${escapeText(mark.text)}</li>`,
  );
  return [
    `<section id="${name}"><h2>${name}</h2><p>${escapeText(asks)}</p>`,
    ...findings.plots.map(
      (plot) => `<figure><figcaption>${escapeText(plot.title)}</figcaption>${renderPlot(plot)}</figure>`,
    ),
    ...findings.tables.map(renderTable),
    `<ul class="marks">${marks.join("\n")}</ul>`,
    `<p><b>${escapeText(findings.summary)}</b> <span class="soft">Took ${seconds.toFixed(1)} s.</span></p></section>`,
  ].join("\n");
}

function renderTable({ caption, columns, rows }: LabTable): string {
  const head = columns.map((title) => `<th scope="col">${escapeText(title)}</th>`).join("");
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${escapeText(cellText(cell))}</td>`).join("")}</tr>`);
  return `<div class="scroll"><table><caption>${escapeText(caption)}</caption><thead><tr>${head}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>`;
}

function stateOf(mark: LabMark): string {
  return mark.met ? "met" : isMissed(mark) ? "missed" : "unsure";
}
