import { describe, expect, it } from "vitest";
import { bench } from "./test-support.ts";

describe("stats", () => {
  it("count calls by what became of them and why they were not tried again", async () => {
    const rig = bench([{ status: 503 }, { status: 200, takesMs: 10 }, { error: "CERT_HAS_EXPIRED" }], {
      random: () => 0.5,
    });
    await rig.finish(rig.request());
    await rig.finish(rig.request());
    expect(rig.client.stats()).toMatchObject({
      calls: 2,
      attempts: 3,
      retries: 1,
      outcomes: { answered: 1, failed: 1, refused: 0 },
      stopped: { answered: 1, "not-transient": 1, "attempts-used": 0 },
      waitedMs: { backoff: 50, "retry-after": 0, pause: 0 },
      waiting: 0,
      inFlight: 0,
      origins: [{ origin: "http://service.test", inFlight: 0, budgetLeft: 9.1, throttled: 0 }],
    });
  });

  it("describe each metric, with labels from fixed sets alone", async () => {
    const rig = bench([{ status: 503 }], { random: () => 0 });
    await rig.finish(rig.request("http://secret.test/path?token=1"));
    const { metrics } = rig.client.stats();
    for (const { name, kind, help, samples } of metrics) {
      expect(name).toMatch(/^spillway_client_[a-z_]+$/);
      expect(name.endsWith("_total")).toBe(kind === "counter");
      expect(help).toMatch(/\.$/);
      expect(samples.every(({ value }) => Number.isFinite(value))).toBe(true);
    }
    expect(JSON.stringify(metrics)).not.toContain("secret");
    const sample = (name: string, labels: object) =>
      metrics
        .find((metric) => metric.name === name)
        ?.samples.find((one) => JSON.stringify(one.labels) === JSON.stringify(labels));
    expect(sample("spillway_client_attempts_total", {})?.value).toBe(4);
    expect(sample("spillway_client_calls_total", { outcome: "answered" })?.value).toBe(1);
    expect(sample("spillway_client_stopped_total", { reason: "attempts-used" })?.value).toBe(1);
  });

  it("remember no more origins than they are told to", async () => {
    const rig = bench([{ status: 200 }], { maxOrigins: 3 });
    for (let host = 0; host < 20; host++) await rig.finish(rig.request(`http://host${host}.test/`));
    expect(rig.client.stats().origins.map(({ origin }) => origin)).toEqual(
      [17, 18, 19].map((host) => `http://host${host}.test`),
    );
  });
});
