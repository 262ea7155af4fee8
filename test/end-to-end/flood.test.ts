import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdmission, withAdmission } from "@spillway/admission";
import { afterEach, describe, expect, it } from "vitest";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/work`;
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** @param onError is told what the program has said so far. */
async function flood(args: readonly string[], onError?: (err: string, interrupt: () => void) => void): Promise<Ran> {
  const child = spawn(process.execPath, ["bench/flood/main.mjs", ...args], { timeout: 60_000 });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    onError?.(err, () => child.kill("SIGINT"));
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out, err };
}

/** Four slots of 50 ms and no line. */
function shedding(): RequestListener {
  const admission = createAdmission({ slots: 4, lineMs: 0 });
  return withAdmission(admission, (_request, response) => void setTimeout(() => response.end("done"), 50));
}

describe("npm run flood", () => {
  it("offers multiples of a rate and says what became of them", async () => {
    const url = await serve(shedding());
    const { code, out, err } = await flood([
      url,
      "--rate",
      "40",
      "--steps",
      "0.5,8",
      "--seconds",
      "1",
      "--pause",
      "0",
      "--json",
    ]);
    expect(code).toBe(0);
    const report = JSON.parse(out.trimEnd());
    expect(report).toMatchObject({ url, method: "GET", capacity: null, endedEarly: false });
    expect(report.steps).toMatchObject([
      { name: "0.5x", offeredPerSecond: 20, offered: 20, inTime: 20, refused: 0, errors: 0, timeouts: 0 },
      { name: "8x", offeredPerSecond: 320, offered: 320, errors: 0, timeouts: 0 },
    ]);
    const [, most] = report.steps;
    expect(most.inTime + most.refused).toBe(320);
    expect(most.refused).toBeGreaterThan(150);
    expect(most.inTime).toBeGreaterThan(20);
    expect(err).toMatch(/offered +per s +requests +in time +503\/429/);
  });

  it("rises from one rate to another where it is told to ramp", async () => {
    const url = await serve((_request, response) => response.end());
    const { code, out } = await flood([url, "--ramp", "20-200", "--seconds", "1", "--json"]);
    expect(code).toBe(0);
    const { steps } = JSON.parse(out.trimEnd()) as { steps: { offeredPerSecond: number; inTime: number }[] };
    expect(steps.map(({ offeredPerSecond }) => offeredPerSecond)).toEqual([
      20, 40, 60, 80, 100, 120, 140, 160, 180, 200,
    ]);
    expect(steps.map(({ inTime }) => inTime)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
  });

  it("measures first what the service can do where no rate is given", async () => {
    const url = await serve(shedding());
    const { code, out, err } = await flood([url, "--steps", "0.5", "--seconds", "1", "--concurrency", "14", "--json"]);
    expect(code).toBe(0);
    expect(err).not.toContain("Warning");
    const { capacity, steps } = JSON.parse(out.trimEnd());
    expect(capacity.concurrency).toBe(14);
    expect(capacity.perSecond).toBeGreaterThan(20);
    expect(capacity.perSecond).toBeLessThan(82);
    expect(steps[0].offeredPerSecond).toBeCloseTo(capacity.perSecond / 2);
  });

  it("sends method, headers and body along, on as many connections as it may", async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        seen.push(`${request.method} ${request.headers["x-api-key"]} ${body} ${request.headers.connection}`);
        response.end();
      });
    });
    const args = ["--method", "post", "--header", "X-Api-Key: 42", "--body", "hello", "--no-keep-alive"];
    const { code, out } = await flood([url, "--rate", "10", "--seconds", "0.5", ...args]);
    expect(code).toBe(0);
    expect(seen.length).toBe(6);
    expect(new Set(seen)).toEqual(new Set(["POST 42 hello close"]));
    expect(out).toContain("POST http://127.0.0.1");
  });

  it("counts callers who give up, and what finds no connection", async () => {
    const url = await serve((request, response) => {
      if (request.headers["x-slow"] === undefined || server?.listenerCount("used") === 0) {
        server?.on("used", () => {});
        response.end();
      }
    });
    const args = ["--header", "x-slow: 1", "--timeout", "200", "--connections", "3", "--json"];
    const { out } = await flood([url, "--rate", "20", "--seconds", "1", ...args]);
    const [step] = JSON.parse(out.trimEnd()).steps;
    expect(step.inTime).toBe(0);
    expect(step.timeouts).toBeGreaterThan(5);
    expect(step.answers["no connection left"]).toBe(step.errors);
    expect(step.timeouts + step.errors).toBe(20);
  });

  it("prints what it has after Ctrl-C, and leaves at once", async () => {
    const url = await serve(shedding());
    let wasSent = false;
    const startedMs = performance.now();
    const { code, out } = await flood([url, "--rate", "20", "--seconds", "50"], (err, interrupt) => {
      if (wasSent || !err.includes("for 50 s")) return;
      wasSent = true;
      setTimeout(interrupt, 500);
    });
    expect(code).toBe(130);
    expect(out).toContain("Ended early");
    expect(out).toMatch(/1x +20\.0 +\d+ +\d+/);
    expect(performance.now() - startedMs).toBeLessThan(30_000);
  });

  it("says when nothing answers", async () => {
    const url = await serve(() => {});
    server?.close();
    server?.closeAllConnections();
    expect(await flood([url])).toMatchObject({ code: 1, out: "", err: expect.stringContaining("Nothing answers at") });
  });

  it.each([
    [[], "Which URL?"],
    [["localhost:3000"], "does not begin with http"],
    [["nonsense"], "is no URL"],
    [["http://192.0.2.1/"], "--yes-this-is-mine"],
    [["http://localhost.example.com/"], "--yes-this-is-mine"],
    [["http://localhost/", "http://localhost/"], "One URL"],
    [["http://localhost/", "--rate", "many"], "--rate takes a number from 0.1 to 50000, got many"],
    [["http://localhost/", "--rate", "100", "--steps", "1,x"], "--steps takes a number"],
    [["http://localhost/", "--rate", "1000", "--steps", "100"], "at most 50000"],
    [["http://localhost/", "--rate", "5000", "--seconds", "3600"], "at most 5000000"],
    [["http://localhost/", "--seconds", "0"], "--seconds takes a number from 0.5 to 3600"],
    [["http://localhost/", "--connections", "1.5"], "--connections takes a whole number"],
    [["http://localhost/", "--ramp", "50"], "--ramp takes two rates"],
    [["http://localhost/", "--ramp", "5-50", "--rate", "7"], "leave out --rate"],
    [["http://localhost/", "--method", "GET it"], "--method takes the name of a method"],
    [["http://localhost/", "--header", "x"], "--header takes 'name: value'"],
    [["http://localhost/", "--fast"], "--fast"],
  ])("%j ends with 2 and says why", async (args, message) => {
    expect(await flood(args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});
