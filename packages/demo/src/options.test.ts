import { describe, expect, it } from "vitest";
import { MODE_NAMES } from "./modes.ts";
import { type DemoOptions, helpText, OptionError, parseOptions } from "./options.ts";

function parse(...args: string[]): DemoOptions {
  const options = parseOptions(args, 123);
  if (options === "help") throw new Error("Help was not asked for.");
  return options;
}

describe("parseOptions", () => {
  it("has a default for everything", () => {
    expect(parse()).toEqual({
      modes: MODE_NAMES,
      seconds: 10,
      workers: 4,
      limit: 70,
      period: "1s",
      periodMs: 1000,
      burst: 20,
      offeredPerSecond: 400,
      connections: "one per request",
      store: "any",
      seed: 123,
      report: "demo-report.html",
      json: false,
      serve: false,
    });
  });

  it("takes every option", () => {
    const given =
      "--modes exact --seconds 3 --workers 2 --limit 5 --burst 9 --period 500ms --offered 50 --seed 0 --store redis --connections kept";
    expect(parse(...given.split(" "), "--report", "out.html", "--json")).toEqual({
      modes: ["exact"],
      seconds: 3,
      workers: 2,
      limit: 5,
      period: "500ms",
      periodMs: 500,
      burst: 9,
      offeredPerSecond: 50,
      connections: "kept open, dealt out evenly",
      store: "redis",
      seed: 0,
      report: "out.html",
      json: true,
      serve: false,
    });
    expect(parse("--serve", "--store", "embedded")).toMatchObject({ serve: true, store: "embedded" });
  });

  it("keeps connections open above 1000 requests per second, if nothing else is asked for", () => {
    expect(parse("--offered", "1000").connections).toBe("one per request");
    expect(parse("--offered", "1001").connections).toBe("kept open, dealt out evenly");
    expect(parse("--offered", "1001", "--connections", "per-request").connections).toBe("one per request");
  });

  it("keeps the order of the modes", () => {
    expect(parse("--modes", "exact, per-process").modes).toEqual(["exact", "per-process"]);
  });

  it.each([
    [["--seconds", "0"], '--seconds must be a whole number from 1 to 600, got "0".'],
    [["--seconds", "2.5"], '--seconds must be a whole number from 1 to 600, got "2.5".'],
    [["--seconds", "1e2"], '--seconds must be a whole number from 1 to 600, got "1e2".'],
    [["--seconds", ""], '--seconds must be a whole number from 1 to 600, got "".'],
    [["--workers", "65"], '--workers must be a whole number from 1 to 64, got "65".'],
    [["--limit", "many"], '--limit must be a whole number from 1 to 1000000, got "many".'],
    [["--burst=-1"], '--burst must be a whole number from 1 to 1000000, got "-1".'],
    [["--offered", "10001"], '--offered must be a whole number from 1 to 10000, got "10001".'],
    [["--seed", "4294967296"], '--seed must be a whole number from 0 to 4294967295, got "4294967296".'],
    [["--period", "1"], '--period must be a time from 1ms to 24h such as 500ms, 1s or 1m, got "1".'],
    [["--period", "25h"], '--period must be a time from 1ms to 24h such as 500ms, 1s or 1m, got "25h".'],
    [["--modes", "exact,exact"], "--modes lists exact twice."],
    [["--modes", ""], `--modes must list some of ${MODE_NAMES.join(", ")}, got "".`],
    [["--modes", "exact,quick"], `--modes must list some of ${MODE_NAMES.join(", ")}, got "quick".`],
    [["--report", ""], "--report must name a file, got an empty name."],
    [["--store", "disk"], '--store must be redis or embedded, got "disk".'],
    [["--connections", "few"], '--connections must be per-request or kept, got "few".'],
    [["--serve", "--seconds", "3"], "--serve measures nothing and has no use for --seconds."],
    [["--serve", "--json"], "--serve measures nothing and has no use for --json."],
    [["--fast"], "Unknown option '--fast'."],
    [["exact"], "Unexpected argument 'exact'."],
    [["--seconds"], "Option '--seconds <value>' argument missing."],
  ])("refuses %j and says why", (args, message) => {
    expect(() => parse(...args)).toThrow(new OptionError(message));
  });

  it("asks for help before it looks at anything else", () => {
    expect(parseOptions(["--help", "--seconds", "0"], 1)).toBe("help");
  });
});

describe("helpText", () => {
  it("names every mode, and fits a terminal", () => {
    const lines = helpText().split("\n");
    for (const mode of MODE_NAMES) expect(helpText()).toContain(mode);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  });
});
