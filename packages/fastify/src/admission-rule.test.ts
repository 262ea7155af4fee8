import { createAdmission } from "@spillway/admission";
import Fastify from "fastify";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SpillwayAdmissionOptions, spillwayAdmission } from "./index.ts";

describe("options", () => {
  it.each<[string, object]>([
    ["admission", { admission: {} }],
    ["admission", { admission: undefined }],
    ["options.slots", { slots: 4 }],
    ["exempt", { exempt: ["health"] }],
    ["global", { global: "yes" }],
    ["preflights", { preflights: 1 }],
    ["problemJson", { problemJson: 1 }],
    ["onSend", { onSend: 1 }],
    ["log", { log: 1 }],
    ["onShed", { onShed: 1 }],
    ["deadlineMs", { deadlineMs: 0 }],
    ["readDeadline", { readDeadline: "all" }],
    ["maxDeadlineMs", { maxDeadlineMs: -1 }],
  ])("a bad %s fails the registration by name", async (name, bad) => {
    const app = Fastify();
    onTestFinished(() => app.close());
    const options = { admission: createAdmission(), ...bad } as SpillwayAdmissionOptions;
    const registered = async () => await app.register(spillwayAdmission, options);
    await expect(registered()).rejects.toThrow(`Option ${name} must be`);
  });

  it.each<[string, unknown]>([
    ["", "on"],
    ["", 4],
    ["", []],
    [".costs", { costs: 1 }],
    [".cost", { cost: 0 }],
    [".cost", { cost: "1" }],
    [".admission", { admission: {} }],
    [".deadlineMs", { deadlineMs: Number.NaN }],
  ])("a bad config.spillwayAdmission%s fails its route", async (name, config) => {
    const late = Fastify();
    onTestFinished(() => late.close());
    await late.register(spillwayAdmission, { admission: createAdmission() });
    expect(() => late.get("/", { config: { spillwayAdmission: config as never } }, async () => "in")).toThrow(
      `Option config.spillwayAdmission${name} must be`,
    );
  });
});
