import { setTimeout as sleep } from "node:timers/promises";
import { type Admission, createAdmission, deadlineHeaders } from "@spillway/admission";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { describe, expect, it, onTestFinished } from "vitest";
import { type SpillwayAdmissionOptions, spillway, spillwayAdmission } from "./index.ts";
import { guarded, handlerTimeout, held, listen, memoryLimiter, StillClock } from "./test-support.ts";

const SOON = { interval: 1, timeout: 5000 };
const preflight = {
  method: "OPTIONS",
  url: "/",
  headers: { origin: "https://example.com", "access-control-request-method": "GET" },
} as const;

const atRest = { active: 0, waiting: 0 };

describe("what a full service answers", () => {
  it("lets in exactly as many of a burst as it has slots, and answers the rest with 503 at once", async () => {
    const { ends, handler } = held();
    const { app, admission } = await guarded((one) => one.get("/", handler), {}, { slots: 4, lineMs: 0 });
    const url = await listen(app);
    const burst = Array.from({ length: 20 }, () => fetch(url));
    // Who was let in begins a turn later.
    await expect.poll(() => [admission.stats().shed.line_full, ends.length], SOON).toEqual([16, 4]);
    for (const end of ends) end({ ok: true });
    const answers = await Promise.all(burst);
    const refused = answers.filter(({ status }) => status === 503);
    expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([4, 16]);
    for (const answer of refused) {
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(Number(answer.headers.get("retry-after-ms"))).toBeLessThanOrEqual(1000);
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(await answer.json()).toEqual({ error: "overloaded", reason: "line_full" });
    }
    await expect.poll(() => admission.stats(), SOON).toMatchObject(atRest);
  });

  it("may be a problem document, marked as not worth a retry where it is not", async () => {
    const { app } = await guarded((one) => one.get("/", async () => "in"), { problemJson: true });
    const response = await app.inject({ url: "/", headers: { "x-request-deadline-ms": "0" } });
    expect([response.statusCode, response.headers["content-type"]]).toEqual([
      503,
      "application/problem+json; charset=utf-8",
    ]);
    expect(response.headers["x-should-retry"]).toBe("false");
    expect(response.json()).toMatchObject({ status: 503, reason: "deadline", "violated-policies": ["admission"] });
  });

  it.each([
    ["passes by onSend hooks", false, []],
    ["passes onSend hooks when told to", true, [503]],
  ])("%s, takes along what earlier hooks have set, and is no error", async (_title, onSend, expected) => {
    const seen: unknown[] = [];
    const app = Fastify();
    app.addHook("onRequest", async (_request, reply) => void reply.header("access-control-allow-origin", "*"));
    app.addHook("onSend", async (_request, reply) => void seen.push(reply.statusCode));
    app.addHook("onError", async () => void seen.push("error"));
    const answered: number[] = [];
    app.addHook("onResponse", async (_request, reply) => void answered.push(reply.statusCode));
    await guarded((one) => one.post("/", async () => "in"), { onSend }, { slots: 1 }, app);
    const headers = { "x-request-deadline-ms": "0", "content-type": "application/json" };
    const injected = await app.inject({ method: "POST", url: "/", headers, payload: "{}" });
    expect(injected.headers).toMatchObject({ "access-control-allow-origin": "*", "retry-after": "1" });
    expect(injected.json()).toEqual({ error: "overloaded", reason: "deadline" });
    expect(seen).toEqual(expected);
    const sent = await fetch(await listen(app), { method: "POST", headers, body: "{}" });
    expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([503, "*"]);
    await expect.poll(() => answered, SOON).toEqual([503, 503]);
  });

  it("is told to onShed, and logged once a second at most, with the number", async () => {
    const lines: { shed: number; reason: string }[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const told: unknown[] = [];
    const onShed: SpillwayAdmissionOptions["onShed"] = ({ url }, { reason }) => void told.push([url, reason]);
    const app = Fastify({ logger: { level: "warn", stream } });
    await guarded((one) => one.get("/", async () => "in"), { log: true, onShed }, { slots: 1 }, app);
    for (let i = 0; i < 5; i++) await app.inject({ url: "/", headers: { "x-request-deadline-ms": "0" } });
    expect(told).toEqual(Array(5).fill(["/", "deadline"]));
    expect(lines).toEqual([expect.objectContaining({ shed: 1, reason: "deadline" })]);
  });

  it("goes to the error handler when onShed throws", async () => {
    const onShed = () => {
      throw new Error("boom");
    };
    const { app, admission } = await guarded((one) => one.get("/", async () => "in"), { onShed });
    const response = await app.inject({ url: "/", headers: { "x-request-deadline-ms": "0" } });
    expect([response.statusCode, response.json().message]).toEqual([500, "boom"]);
    expect(admission.stats()).toMatchObject(atRest);
  });
});

describe("an onShed that rejects", () => {
  it("is logged as an error, and the refusal is sent all the same", async () => {
    const lines: { msg: string; err?: { message: string } }[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const onShed = () => Promise.reject(new Error("boom")) as never;
    const app = Fastify({ logger: { level: "warn", stream } });
    await guarded((one) => one.get("/", async () => "in"), { onShed }, {}, app);
    expect((await app.inject({ url: "/", headers: { "x-request-deadline-ms": "0" } })).statusCode).toBe(503);
    await expect
      .poll(() => lines.map(({ msg, err }) => [msg, err?.message]), SOON)
      .toEqual([["Option onShed rejected.", "boom"]]);
  });
});

describe("which routes are guarded", () => {
  const routes = (app: FastifyInstance) => {
    for (const url of ["/", "/health", "/health/db", "/healthcare", "/metrics"]) app.get(url, async () => "in");
    app.get("/never", { config: { spillwayAdmission: false } }, async () => "in");
    app.get("/livez", { config: { spillwayAdmission: true } }, async () => "in");
    app.get("/object", { config: { spillwayAdmission: {} } }, async () => "in");
  };
  async function admitted(options: Partial<SpillwayAdmissionOptions>): Promise<string[]> {
    const { app, admission } = await guarded(routes, options, { slots: 100 });
    const found: string[] = [];
    for (const url of [
      "/",
      "/health",
      "/health/db",
      "/healthcare",
      "/metrics",
      "/never",
      "/livez",
      "/object",
      "/none",
    ]) {
      const before = admission.stats().admitted;
      await app.inject(url);
      if (admission.stats().admitted > before) found.push(url);
    }
    return found;
  }

  it("are all but health and metrics routes, and those that say so", async () => {
    expect(await admitted({})).toEqual(["/", "/healthcare", "/livez", "/object"]);
  });

  it("can be told", async () => {
    expect(await admitted({ exempt: ["/health*"] })).toEqual(["/", "/metrics", "/livez", "/object"]);
    expect(await admitted({ global: false })).toEqual(["/livez", "/object"]);
  });

  it("are those of HEAD too, and not CORS preflights unless told", async () => {
    const both = (app: FastifyInstance) =>
      void app.route({ method: ["GET", "OPTIONS"], url: "/", handler: async () => "in" });
    const { app, admission } = await guarded(both, {}, { slots: 9 });
    await app.inject(preflight);
    expect(admission.stats().admitted).toBe(0);
    await app.inject({ method: "HEAD", url: "/" });
    await app.inject({ ...preflight, headers: {} });
    expect(admission.stats().admitted).toBe(2);
    const strict = await guarded(both, { preflights: true }, { slots: 9 });
    await strict.app.inject(preflight);
    expect(strict.admission.stats().admitted).toBe(1);
  });

  it("take slots of a controller once where nested registrations share it, and of each where they differ", async () => {
    const inner = createAdmission({ slots: 9 });
    const { app, admission } = await guarded(
      (one) => {
        one.register((child, _options, done) => {
          child.register(spillwayAdmission, { admission: inner, log: false });
          child.after(() => child.get("/both", async () => "in"));
          done();
        });
      },
      {},
      { slots: 9 },
    );
    await app.inject("/both");
    expect([admission.stats().admitted, inner.stats().admitted]).toEqual([1, 1]);
    const shared = createAdmission({ slots: 9 });
    const twice = Fastify();
    onTestFinished(() => twice.close());
    await twice.register(spillwayAdmission, { admission: shared });
    await twice.register(spillwayAdmission, { admission: shared });
    twice.get("/", async () => "in");
    await twice.inject("/");
    expect(shared.stats().admitted).toBe(1);
  });

  it("take their cost and their controller from the route", async () => {
    const own = createAdmission({ slots: 9 });
    const costs: number[] = [];
    const active = (from: () => Admission) => async () => void costs.push(from().stats().active);
    const scene: { admission?: Admission } = {};
    const { app, admission } = await guarded(
      (one) => {
        const plugin = () => scene.admission as Admission;
        one.get("/three", { config: { spillwayAdmission: { cost: 3 } } }, active(plugin));
        const cost = (request: FastifyRequest) => Number((request.query as { n: string }).n);
        one.get("/many", { config: { spillwayAdmission: { cost } } }, active(plugin));
        one.get(
          "/own",
          { config: { spillwayAdmission: { admission: own } } },
          active(() => own),
        );
      },
      {},
      { slots: 9 },
    );
    scene.admission = admission;
    for (const url of ["/three", "/many?n=5", "/own"]) expect((await app.inject(url)).statusCode).toBe(200);
    expect(costs).toEqual([3, 5, 1]);
    const bad = await app.inject("/many?n=0");
    expect([bad.statusCode, bad.json().code]).toEqual([500, "ERR_SPILLWAY_INVALID_COST"]);
    await expect.poll(() => admission.stats(), SOON).toMatchObject(atRest);
  });
});

describe("beside the limiter", () => {
  const policy = { name: "minute", limit: 1, period: "1m" } as const;

  it.each(["before", "after"])("429 goes before 503 when the limiter is registered %s", async (when) => {
    const limiter = memoryLimiter(new StillClock(), policy);
    const admission = createAdmission({ slots: 1, lineMs: 0 });
    const app = Fastify();
    onTestFinished(() => app.close());
    if (when === "before") await app.register(spillway, { limiter, key: (request) => request.url });
    await app.register(spillwayAdmission, { admission, log: false });
    if (when === "after") await app.register(spillway, { limiter, key: (request) => request.url });
    app.get("/:any", async () => "in");
    const holder = admission.acquireNow();
    const full = [await app.inject("/a"), await app.inject("/a")];
    expect(full.map(({ statusCode }) => statusCode)).toEqual([503, 429]);
    expect(full[0]?.headers.ratelimit).toBe('"minute";r=0;t=60');
    expect(admission.stats().shed.line_full).toBe(1);
    if (holder?.admitted) holder.release();
    expect((await app.inject("/b")).statusCode).toBe(200);
  });
});

describe("deadlines", () => {
  it("reach the handler as what is left, and the next hop", async () => {
    const { app } = await guarded((one) =>
      one.get("/", async (request) => ({
        left: request.spillwayAdmission?.remainingMs(),
        next: deadlineHeaders(request.spillwayAdmission),
      })),
    );
    const { left, next } = (await app.inject({ url: "/", headers: { "x-request-deadline-ms": "5000" } })).json();
    expect(left).toBeGreaterThan(3000);
    expect(left).toBeLessThanOrEqual(5000);
    expect(Number(next["x-request-deadline-ms"])).toBeLessThanOrEqual(left);
    expect((await app.inject("/")).json()).toEqual({ left: null, next: {} });
  });

  it("count from the arrival of the request, where Fastify notes it", async () => {
    const app = Fastify();
    app.addHook("onRequest", async () => await sleep(60));
    app.addHook("onResponse", async () => {});
    const show = async (request: FastifyRequest) => request.spillwayAdmission?.remainingMs();
    await guarded((one) => one.get("/", show), {}, {}, app);
    const { body } = await app.inject({ url: "/", headers: { "x-request-deadline-ms": "30000" } });
    expect(Number(body)).toBeLessThanOrEqual(29_950);
  });

  it("come from the route where it has one, and requests can only shorten them", async () => {
    const show = async (request: FastifyRequest) => request.spillwayAdmission?.remainingMs();
    const { app } = await guarded(
      (one) => {
        one.get("/own", { config: { spillwayAdmission: { deadlineMs: 7000 } } }, show);
        one.get("/timeout", handlerTimeout(30_000), show);
        one.get("/plain", show);
      },
      { deadlineMs: 60_000, readDeadline: (request) => request.headers["x-from"] === "gateway" },
    );
    // To the next second: a busy machine takes its time.
    const left = async (url: string, headers = {}) =>
      Math.ceil(Number((await app.inject({ url, headers })).body) / 1000) * 1000;
    expect(await left("/own")).toBe(7000);
    expect(await left("/plain")).toBe(60_000);
    const asked = { "x-request-deadline-ms": "5000" };
    expect(await left("/own", asked)).toBe(7000);
    expect(await left("/own", { ...asked, "x-from": "gateway" })).toBe(5000);
    expect(await left("/own", { "x-request-deadline-ms": "90000", "x-from": "gateway" })).toBe(7000);
    const bare = await guarded((one) => one.get("/timeout", handlerTimeout(30_000), show));
    expect(Number((await bare.app.inject("/timeout")).body)).toBeGreaterThan(20_000);
  });
});
