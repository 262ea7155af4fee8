import { describe, expect, it } from "vitest";
import { LiveFigures } from "./live-figures.ts";
import { type LiveScene, renderPage, renderParts } from "./live-page.ts";

const SCENE: LiveScene = {
  shape: { limit: 70, period: "1s", periodMs: 1000, burst: 20 },
  modes: ["per-process", "outage"],
  workers: ["4711", "4712"],
  store: "Store: redis 7.0.15, a <private> server.",
  perSecond: 250,
  canCut: true,
  urlOf: (mode) => `http://127.0.0.1:1234/${mode}`,
};
const STATE = { load: "Sending <much>.", isStoreReachable: false, callsPerSecond: 54, events: ["second <b>", "first"] };

function figures(): LiveFigures {
  const live = new LiveFigures(2);
  live.note(0, [{ second: 100, modes: { outage: { admitted: 20, refused: 180, degraded: 200 } } }]);
  live.note(1, [{ second: 100, modes: { outage: { admitted: 15, refused: 185, degraded: 100 } } }]);
  return live;
}

describe("the live page", () => {
  const page = renderPage(SCENE);
  const parts = renderParts(SCENE, figures(), STATE, 100);

  it("has a place for everything that changes", () => {
    expect(Object.keys(parts).sort()).toEqual([
      "events",
      "note-outage",
      "note-per-process",
      "plot-outage",
      "plot-per-process",
      "state",
    ]);
    for (const id of Object.keys(parts)) expect(page).toContain(`id="${id}"`);
  });

  it("says what the limit is, who works, and how to send load", () => {
    expect(page).toContain("may do 70 requests per 1s, with a burst of 20");
    for (const [index, worker] of SCENE.workers.entries())
      expect(page).toContain(`worker ${index + 1} <small>${worker}</small>`);
    expect(page).toContain('name="perSecond" type="number" min="1" max="10000" value="250"');
    expect(page).toContain("http://127.0.0.1:1234/outage");
  });

  it("needs nothing from elsewhere, and lets no markup of a value through", () => {
    expect(page.replaceAll("http://127.0.0.1:1234", "")).not.toMatch(/https?:|url\(|@import|<script src|<img/);
    expect(page).not.toContain("<private>");
    expect(JSON.stringify(parts)).not.toMatch(/<much>|second <b>/);
  });

  it("shows each worker's part of a second, and marks what was decided without the store", () => {
    const plot = parts["plot-outage"]!;
    expect(plot).toContain("20 + 15 = 35 admitted of 400, 300 without the store");
    expect(plot.match(/class="bar worker-0"/g)).toHaveLength(1);
    expect(plot.match(/class="bar worker-1"/g)).toHaveLength(1);
    expect(plot.match(/class="away"/g)).toHaveLength(1);
    expect(plot).toContain("limit 70/s");
    expect(parts["plot-per-process"]).not.toContain('class="bar');
    const height = (worker: number) => Number(new RegExp(`worker-${worker}"[^>]*height="([\\d.]+)"`).exec(plot)?.[1]);
    expect(height(0) / height(1)).toBeCloseTo(20 / 15, 2);
  });

  it("says what happened in the last second, and what is going on", () => {
    expect(parts["note-outage"]).toBe("<b>35</b> admitted of 400 in the last second, 300 decided without the store");
    expect(parts["note-per-process"]).toContain("nothing asked");
    expect(parts.state).toContain(
      "The store served 54 calls in the last second. In mode outage the store is out of reach.",
    );
    expect(parts.events?.match(/<li>/g)).toHaveLength(2);
  });

  it("offers to take the store away only where that is possible", () => {
    expect(page).toContain('<button id="cut">');
    expect(renderPage({ ...SCENE, canCut: false })).not.toContain('<button id="cut">');
    const { state } = renderParts({ ...SCENE, canCut: false }, figures(), { ...STATE, load: "" }, 100);
    expect(state).toBe("No load is being sent from here. The store served 54 calls in the last second.");
  });
});
