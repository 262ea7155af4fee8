import { Readable } from "node:stream";
import { type Admission, type AdmissionOptions, createAdmission, type Permit } from "@spillway/admission";
import { type SpillwayAdmissionOptions, spillway, spillwayAdmission } from "@spillway/fastify";
import Fastify, { type FastifyInstance } from "fastify";
import type { PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import { FASTIFY_WAYS, type FastifyAnswer, type FastifyAsk } from "../support/fastify-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

const minute: PolicyOptions = { name: "minute", limit: 20, period: "1m" };
const POLICY = { "ratelimit-policy": '"minute";q=20;w=60' };
const ONE_TAKEN = { ...POLICY, ratelimit: '"minute";r=19;t=3' };
const SHED = {
  "content-type": "application/json; charset=utf-8",
  "content-length": "43",
  "retry-after": "2",
  "retry-after-ms": "1500",
};
const preflight = { origin: "https://example.com", "access-control-request-method": "GET" };

/** The fields that tell of limits and of refusals, and how the body is to be read. */
function toldBy({ headers }: FastifyAnswer): Record<string, unknown> {
  const form = /^(?:ratelimit|ratelimit-policy|retry-after|retry-after-ms|x-should-retry|content-type|content-length)$/;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => form.test(name)));
}

async function application(admission: Admission, options: Partial<SpillwayAdmissionOptions>): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(spillway, { limiter: manualLimiter(minute).limiter, notFound: true });
  await app.register(spillwayAdmission, { admission, log: false, ...options });
  app.get("/", async () => "in");
  app.options("/", async () => "options");
  app.get("/health", { config: { spillway: false } }, async () => "up");
  app.get("/exempt", { config: { spillwayAdmission: false } }, async () => "in");
  app.get("/stream", async (_request, reply) => reply.type("text/plain").send(Readable.from(["a", "b"])));
  app.get("/throw", async () => {
    throw Object.assign(new Error("teapot"), { statusCode: 418 });
  });
  return app;
}

describe.each(Object.keys(FASTIFY_WAYS))("the answer of Fastify, over %s, when the service is full", (way) => {
  async function setup(admissionOptions: AdmissionOptions = {}, options: Partial<SpillwayAdmissionOptions> = {}) {
    const admission = createAdmission({ slots: 1, lineMs: 0, retryAfter: 1500, ...admissionOptions });
    const ask: FastifyAsk = await (FASTIFY_WAYS[way] as (typeof FASTIFY_WAYS)[string])(
      await application(admission, options),
    );
    const holder = admission.acquireNow() as Permit;
    return { admission, ask, holder };
  }

  it("shed: 503, when to come back in seconds and in ms, and the limiter's fields, which has counted it", async () => {
    const { ask } = await setup();
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([503, '{"error":"overloaded","reason":"line_full"}']);
    expect(toldBy(answer)).toEqual({ ...ONE_TAKEN, ...SHED });
  });

  it("shed, as a problem document", async () => {
    const { ask } = await setup({}, { problemJson: true });
    const answer = await ask();
    expect(answer.status).toBe(503);
    expect(toldBy(answer)).toEqual({
      ...ONE_TAKEN,
      ...SHED,
      "content-type": "application/problem+json; charset=utf-8",
      "content-length": String(answer.body.length),
    });
    expect(JSON.parse(answer.body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "Temporary reduced capacity",
      status: 503,
      detail: "The service is full and so is its line.",
      reason: "line_full",
      "violated-policies": ["admission"],
    });
  });

  it("waited too long: the same, out of the line", async () => {
    const { ask } = await setup({ lineMs: 1000, waitMs: 5 });
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([503, '{"error":"overloaded","reason":"waited_too_long"}']);
    expect(toldBy(answer)).toEqual({ ...ONE_TAKEN, ...SHED, "content-length": "49" });
  });

  it("too late to be of use: not worth a retry", async () => {
    const { ask } = await setup();
    const answer = await ask({ headers: { "x-request-deadline-ms": "0" } });
    expect([answer.status, answer.body]).toEqual([503, '{"error":"overloaded","reason":"deadline"}']);
    expect(toldBy(answer)).toEqual({ ...ONE_TAKEN, ...SHED, "content-length": "42", "x-should-retry": "false" });
  });

  it("later than the longest wait that is told: that wait, and not worth a retry", async () => {
    const { ask } = await setup({ retryCapMs: 1000 });
    expect(toldBy(await ask())).toEqual({
      ...ONE_TAKEN,
      ...SHED,
      "retry-after": "1",
      "retry-after-ms": "1000",
      "x-should-retry": "false",
    });
  });

  it("closing: come back in a second, to whoever serves then", async () => {
    const { admission, ask } = await setup();
    await admission.close();
    const answer = await ask();
    expect([answer.status, answer.body]).toEqual([503, '{"error":"overloaded","reason":"closed"}']);
    expect(toldBy(answer)).toEqual({
      ...ONE_TAKEN,
      ...SHED,
      "content-length": "40",
      "retry-after": "1",
      "retry-after-ms": "1000",
    });
  });

  it("HEAD: the same fields, without a body", async () => {
    const { ask } = await setup();
    const answer = await ask({ method: "HEAD" });
    expect([answer.status, answer.body, toldBy(answer)]).toEqual([503, "", { ...ONE_TAKEN, ...SHED }]);
  });

  it("OPTIONS: shed, but for a preflight, which needs no slot", async () => {
    const { ask } = await setup();
    const answer = await ask({ method: "OPTIONS", headers: preflight });
    expect([answer.status, answer.body]).toEqual([200, "options"]);
    expect((await ask({ method: "OPTIONS" })).status).toBe(503);
  });

  it("exempt: health and routes that say so are served, with the limiter's fields where it counts", async () => {
    const { ask } = await setup();
    const [health, exempt] = [await ask({ path: "/health" }), await ask({ path: "/exempt" })];
    expect([health.status, exempt.status]).toEqual([200, 200]);
    expect(toldBy(health)).not.toHaveProperty("ratelimit");
    expect(toldBy(exempt)).toMatchObject(ONE_TAKEN);
  });

  it("404: counted by the limiter, needs no slot", async () => {
    const { ask } = await setup();
    const answer = await ask({ path: "/missing" });
    expect([answer.status, toldBy(answer).ratelimit, toldBy(answer)["retry-after"]]).toEqual([
      404,
      ONE_TAKEN.ratelimit,
      undefined,
    ]);
  });

  it("observed, or switched off: everybody is served, and who would have been turned away is counted while observed", async () => {
    const { admission, ask } = await setup({ mode: "observe" });
    for (const headers of [{}, { "x-request-deadline-ms": "0" }]) {
      const answer = await ask({ headers });
      expect([answer.status, answer.body]).toEqual([200, "in"]);
      expect(answer.headers).not.toHaveProperty("retry-after-ms");
    }
    expect(admission.stats()).toMatchObject({ wouldShed: { line_full: 1, deadline: 1 }, shed: { line_full: 0 } });
    admission.tune({ mode: "off" });
    expect((await ask()).status).toBe(200);
    admission.tune({ mode: "enforce" });
    expect((await ask()).status).toBe(503);
    expect(admission.stats()).toMatchObject({ wouldShed: { line_full: 1, deadline: 1 }, shed: { line_full: 1 } });
  });

  it("and when it is not, a stream and a handler that throws have their own status and no word of 503", async () => {
    const { admission, ask, holder } = await setup();
    holder.release();
    const stream = await ask({ path: "/stream" });
    expect([stream.status, stream.body]).toEqual([200, "ab"]);
    await expect.poll(() => admission.stats().active, { interval: 1 }).toBe(0);
    const thrown = await ask({ path: "/throw" });
    expect(thrown.status).toBe(418);
    for (const answer of [stream, thrown])
      for (const name of ["retry-after", "retry-after-ms", "x-should-retry"])
        expect(answer.headers).not.toHaveProperty(name);
  });
});
