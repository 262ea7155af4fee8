import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type AdmissionOptions, createAdmission } from "@spillway/admission";
import { spillwayAdmission } from "@spillway/fastify";
import Fastify, { type FastifyReply } from "fastify";
import { describe, expect, it, onTestFinished } from "vitest";

const SOON = { interval: 1, timeout: 10_000 };

async function service(options: AdmissionOptions, handler: (reply: FastifyReply) => Promise<unknown>) {
  const admission = createAdmission(options);
  const app = Fastify();
  await app.register(spillwayAdmission, { admission, log: false });
  app.get("/", (_request, reply) => handler(reply));
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  /** Each caller has a connection of its own. */
  const call = (): { readonly sent: ClientRequest; readonly status: Promise<number | undefined> } => {
    const sent = request({ host: "127.0.0.1", port, agent: false }).end();
    sent.on("error", () => {});
    const status = once(sent, "response").then(
      async ([response]: IncomingMessage[]) => {
        response?.on("error", () => {}).resume();
        return response?.statusCode;
      },
      () => undefined,
    );
    return { sent, status };
  };
  return { admission, call };
}

describe("C19 a: callers who hang up", { timeout: 60_000 }, () => {
  /** What the first caller is at when it leaves. */
  type At = "waiting" | "running" | "replying";

  it("never take a slot with them: the next caller is served, 100 times over", async () => {
    let isSlow = true;
    const { admission, call } = await service(
      { slots: 1, lineItems: 10, lineMs: 1e6, waitMs: 10_000, order: "fifo" },
      async (reply) => {
        if (!isSlow) return "done";
        if (mode === "replying") {
          reply.hijack().raw.write("some");
          return;
        }
        return await new Promise(() => {});
      },
    );
    let mode: At = "running";
    const modes: readonly At[] = ["waiting", "running", "replying"];
    for (let round = 0; round < 100; round++) {
      mode = modes[round % 3] as At;
      isSlow = true;
      const first = call();
      await expect.poll(() => admission.stats().active, SOON).toBe(1);
      if (mode === "replying") await first.status;
      const leaver = mode === "waiting" ? call() : first;
      if (mode === "waiting") await expect.poll(() => admission.stats().waiting, SOON).toBe(1);
      const next = call();
      await expect.poll(() => admission.stats().waiting, SOON).toBe(mode === "waiting" ? 2 : 1);
      isSlow = false;
      leaver.sent.destroy();
      if (mode === "waiting") {
        await expect.poll(() => admission.stats().waiting, SOON).toBe(1);
        first.sent.destroy();
      }
      expect(await next.status).toBe(200);
      await expect.poll(() => admission.stats(), SOON).toMatchObject({ active: 0, waiting: 0 });
    }
    const { admitted, wasted, shed } = admission.stats();
    expect({ admitted, wasted, cancelled: shed.cancelled }).toEqual({ admitted: 200, wasted: 100, cancelled: 34 });
  });
});

describe("C19 c: an event loop that stands still", { timeout: 60_000 }, () => {
  it("turns away in one go who aged past the wait limit meanwhile, and starts none of them", async () => {
    let started = 0;
    const { admission, call } = await service(
      { slots: 10, lineItems: 50, lineMs: 1e6, waitMs: 300, order: "fifo" },
      async () => {
        started++;
        await sleep(5000);
      },
    );
    const calls = Array.from({ length: 60 }, call);
    await expect.poll(() => admission.stats().waiting, SOON).toBe(50);
    const untilMs = performance.now() + 400;
    while (performance.now() < untilMs);
    const statuses = await Promise.all(calls.slice(10).map(({ status }) => status));
    expect(statuses).toEqual(Array(50).fill(503));
    expect(started).toBe(10);
    expect(admission.stats()).toMatchObject({ active: 10, waiting: 0, shed: { waited_too_long: 50 } });
    for (const { sent } of calls) sent.destroy();
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
  });
});

describe("rule 1, with work that computes", { timeout: 60_000 }, () => {
  it("refuses while jobs wait, not after them: a 503 takes hardly longer than one job", async () => {
    const JOB_MS = 20;
    const { admission, call } = await service({ slots: 1, lineMs: 200, guessMs: JOB_MS, order: "fifo" }, async () => {
      const untilMs = performance.now() + JOB_MS;
      while (performance.now() < untilMs);
      return "done";
    });
    const startedMs = performance.now();
    const order: number[] = [];
    const calls = Array.from({ length: 60 }, () => call().status.then((status) => void order.push(status ?? 0)));
    await Promise.all(calls);
    const elapsedMs = performance.now() - startedMs;
    const { admitted, shed } = admission.stats();
    expect(admitted + shed.line_full + shed.waited_too_long).toBe(60);
    expect(shed.line_full).toBeGreaterThan(30);
    // Had each job run as its request was read, nobody would have been refused, in 60 jobs' time.
    expect(elapsedMs).toBeLessThan(50 * JOB_MS);
    expect(order.indexOf(503)).toBeLessThan(10);
  });
});
