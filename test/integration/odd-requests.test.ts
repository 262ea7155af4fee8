import type { Server } from "node:http";
import { type Admission, type AdmissionOptions, createAdmission, withAdmission } from "@spillway/admission";
import { spillwayAdmission } from "@spillway/fastify";
import Fastify from "fastify";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { portOf, serve } from "../support/http-exchange.ts";
import { RawConnection } from "../support/raw-connection.ts";

const SOON = { interval: 1, timeout: 5000 };
const AT_REST = { active: 0, waiting: 0 };

/** What a service does with a request that is let in: ends it when the test says so. */
interface Work {
  readonly path: string;
  end(): void;
  /** Sends a part of the answer and then fails. */
  breakOff(): void;
}

interface Options {
  readonly cost?: (request: { readonly headers: Readonly<Record<string, unknown>> }) => number;
  readonly readDeadline?: (request: { readonly headers: Readonly<Record<string, unknown>> }) => boolean;
  readonly onShed?: () => void;
}

interface Service {
  readonly admission: Admission;
  readonly server: Server;
  readonly working: Work[];
}

/** The two forms of admission, as an application uses them. */
const FORMS: Readonly<Record<string, (admission: Admission, options: Options) => Promise<Service>>> = {
  "node:http": async (admission, { cost, readDeadline, onShed }) => {
    const working: Work[] = [];
    const listener = withAdmission(
      admission,
      (request, response) => {
        const breakOff = (): void => void response.write("some", () => response.destroy(new Error("broken")));
        working.push({ path: request.url ?? "", end: () => response.end("in"), breakOff });
      },
      { ...(cost && { cost }), ...(readDeadline && { readDeadline }), ...(onShed && { onShed }) },
    );
    return { admission, working, server: await serve(listener) };
  },
  Fastify: async (admission, { cost, readDeadline, onShed }) => {
    const working: Work[] = [];
    const app = Fastify();
    onTestFinished(() => app.close());
    await app.register(spillwayAdmission, {
      admission,
      log: false,
      ...(readDeadline && { readDeadline }),
      ...(onShed && { onShed }),
    });
    const config = cost === undefined ? {} : { spillwayAdmission: { cost } };
    app.all("/*", { config }, (request, reply) => {
      const breakOff = (): void => {
        const raw = reply.hijack().raw;
        raw.write("some", () => raw.destroy(new Error("broken")));
      };
      working.push({ path: request.url, end: () => void reply.send("in"), breakOff });
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.server.closeAllConnections());
    return { admission, working, server: app.server as Server };
  },
};

describe.each(Object.keys(FORMS))("admission before %s", (form) => {
  const unhandled = vi.fn();
  beforeEach(() => {
    process.on("unhandledRejection", unhandled);
    vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
  });

  async function start(admissionOptions: AdmissionOptions = { slots: 1, lineMs: 0 }, options: Options = {}) {
    const make = FORMS[form] as (typeof FORMS)[string];
    const service = await make(createAdmission(admissionOptions), options);
    const connect = () => RawConnection.open(portOf(service.server));
    return { ...service, connect };
  }

  const get = (path = "/", fields = "", version = "1.1"): string =>
    `GET ${path} HTTP/${version}\r\nhost: a\r\n${fields}\r\n`;

  it("answers pipelined requests in their order, those that it refuses too, and none runs twice", async () => {
    const { admission, working, connect } = await start();
    const connection = await connect();
    connection.write(get("/1") + get("/2") + get("/3") + get("/4"));
    await expect.poll(() => [working.length, admission.stats().shed.line_full], SOON).toEqual([1, 3]);
    working[0]?.end();
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await connection.answer()).status);
    expect(statuses).toEqual([200, 503, 503, 503]);
    expect(working.map(({ path }) => path)).toEqual(["/1"]);
    await expect.poll(() => admission.stats(), SOON).toMatchObject(AT_REST);
  });

  it("leaves the connection of a refused upload fit for the next request, on the same connection", async () => {
    const { admission, working, connect } = await start();
    const [holder, uploader] = [await connect(), await connect()];
    holder.write(get("/held"));
    await expect.poll(() => working.length, SOON).toBe(1);
    const body = "x".repeat(1_000_000);
    const type = "content-type: application/octet-stream\r\n";
    uploader.write(`POST /up HTTP/1.1\r\nhost: a\r\n${type}content-length: ${body.length}\r\n\r\n${body}`);
    expect((await uploader.answer()).status).toBe(503);
    working[0]?.end();
    await holder.answer();
    await expect.poll(() => admission.stats().active, SOON).toBe(0);
    uploader.write(get("/next"));
    await expect.poll(() => working.length, SOON).toBe(2);
    working[1]?.end();
    expect(await uploader.answer()).toMatchObject({ status: 200, body: "in" });
    expect(uploader.isClosed).toBe(false);
  });

  it("speaks HTTP/1.0: a whole 503, and the connection closed or kept as the caller asked", async () => {
    const { working, connect } = await start();
    const holder = await connect();
    holder.write(get());
    await expect.poll(() => working.length, SOON).toBe(1);
    const [closing, keeping] = [await connect(), await connect()];
    closing.write(get("/", "", "1.0"));
    expect(JSON.parse((await closing.answer()).body)).toEqual({ error: "overloaded", reason: "line_full" });
    await expect.poll(() => closing.isClosed, SOON).toBe(true);
    for (let n = 0; n < 2; n++) {
      keeping.write(get("/", "connection: keep-alive\r\n", "1.0"));
      expect((await keeping.answer()).status).toBe(503);
    }
  });

  it("gives the slot back of an answer that breaks off half way, and counts it as wasted", async () => {
    const { admission, working, connect } = await start();
    const connection = await connect();
    connection.write(get());
    await expect.poll(() => working.length, SOON).toBe(1);
    working[0]?.breakOff();
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...AT_REST, admitted: 1, wasted: 1 });
    await expect.poll(() => connection.isClosed, SOON).toBe(true);
  });

  const post = "POST /up HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n";

  it.each([
    ["in the middle of the head", post, 0],
    ["in the middle of the body", `${post}\r\n12345`, 1],
    ["behind the body", `${post}\r\n1234567890`, 1],
    ["with what is no request behind it", `${post}\r\n1234567890\0\0 no request\r\n\r\n`, 1],
  ])("gets its slots back from callers who go %s, and serves the next one", async (_where, text, admitted) => {
    const { admission, working, connect } = await start();
    for (let round = 0; round < 5; round++) {
      const connection = await connect();
      connection.write(text);
      await expect.poll(() => admission.stats().admitted, SOON).toBe((round + 1) * admitted);
      if (admitted === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      connection.socket.destroy();
      await expect.poll(() => admission.stats(), SOON).toMatchObject(AT_REST);
    }
    const begun = working.length;
    const next = await connect();
    next.write(get("/next"));
    await expect.poll(() => working.length, SOON).toBe(begun + 1);
    working.at(-1)?.end();
    expect(await next.answer()).toMatchObject({ status: 200, body: "in" });
  });

  it("when it is closed with a full line answers who waits and who comes, and lets work under way end", async () => {
    const { admission, working, connect } = await start({ slots: 1, lineItems: 3, lineMs: 1e6, waitMs: 60_000 });
    const connections = [];
    for (let n = 0; n < 4; n++) {
      const connection = await connect();
      connection.write(get(`/${n}`));
      await expect.poll(() => working.length + admission.stats().waiting, SOON).toBe(n + 1);
      connections.push(connection);
    }
    await admission.close();
    const late = await connect();
    late.write(get("/late"));
    for (const connection of [...connections.slice(1), late]) {
      const { status, headers, body } = await connection.answer();
      expect([status, headers["retry-after"], JSON.parse(body).reason]).toEqual([503, "1", "closed"]);
    }
    working[0]?.end();
    expect((await (connections[0] as RawConnection).answer()).status).toBe(200);
    await expect.poll(() => admission.stats(), SOON).toMatchObject({ ...AT_REST, admitted: 1, shed: { closed: 4 } });
  });

  it.each([
    ["digits without end", `x-request-deadline-ms: ${"9".repeat(8000)}\r\n`],
    ["no number", "x-request-deadline-ms: -1\r\n"],
    ["text", "x-request-deadline-ms: NaN\r\n"],
    ["two of them", "x-request-deadline-ms: 0\r\nx-request-deadline-ms: 0\r\n"],
    ["a grpc-timeout that is none", "grpc-timeout: 0s\r\n"],
    ["an attempt that is none", `x-request-attempt: ${"1".repeat(8000)}\r\n`],
  ])("takes a request with %s in its fields for one without", async (_what, fields) => {
    const { admission, working, connect } = await start();
    const connection = await connect();
    connection.write(get("/", fields));
    await expect.poll(() => working.length, SOON).toBe(1);
    working[0]?.end();
    expect((await connection.answer()).status).toBe(200);
    expect(admission.stats()).toMatchObject({ admitted: 1, repeated: 0 });
  });

  it("heeds the deadline of those who may set it, and of nobody else", async () => {
    const readDeadline: Options["readDeadline"] = ({ headers }) => headers["x-from"] === "gateway";
    const { admission, working, connect } = await start({ slots: 1 }, { readDeadline });
    const connection = await connect();
    connection.write(get("/", "x-request-deadline-ms: 0\r\n"));
    await expect.poll(() => working.length, SOON).toBe(1);
    working[0]?.end();
    expect((await connection.answer()).status).toBe(200);
    connection.write(get("/", "x-request-deadline-ms: 0\r\nx-from: gateway\r\n"));
    const { status, headers, body } = await connection.answer();
    expect([status, headers["x-should-retry"], JSON.parse(body).reason]).toEqual([503, "false", "deadline"]);
    expect(admission.stats().admitted).toBe(1);
  });

  it("counts who says that it asks again, whatever becomes of the request", async () => {
    const { admission, working, connect } = await start();
    const [first, second] = [await connect(), await connect()];
    first.write(get("/", "x-request-attempt: 1\r\n"));
    await expect.poll(() => working.length, SOON).toBe(1);
    second.write(get("/", "x-request-attempt: 2\r\n"));
    expect((await second.answer()).status).toBe(503);
    working[0]?.end();
    await first.answer();
    second.write(get("/", "x-request-attempt: 3\r\n"));
    await expect.poll(() => working.length, SOON).toBe(2);
    expect(admission.stats()).toMatchObject({ admitted: 2, repeated: 2 });
  });

  const boom = new Error("boom");
  const throws = (thrown: unknown) => (): never => {
    throw thrown;
  };
  const rejects = (): never => Promise.reject(boom) as never;
  const past = "x-request-deadline-ms: 0\r\n";

  it.each<[string, Options, string]>([
    ["cost throws undefined", { cost: throws(undefined) }, ""],
    ["cost throws a text", { cost: throws("boom") }, ""],
    ["cost rejects", { cost: rejects }, ""],
    ["cost gives a promise", { cost: (async () => 1) as never }, ""],
    ["readDeadline throws null", { readDeadline: throws(null) }, past],
    ["readDeadline rejects", { readDeadline: rejects }, past],
    ["onShed throws 0", { onShed: throws(0) }, past],
  ])("answers 500 when %s, and nobody goes in", async (_what, options, fields) => {
    const { admission, working, connect } = await start({ slots: 1, lineMs: 0 }, options);
    const connection = await connect();
    connection.write(get("/", fields));
    expect((await connection.answer()).status).toBe(500);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([working.length, admission.stats().active, admission.stats().admitted]).toEqual([0, 0, 0]);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("paths that are exempt before node:http", () => {
  it.each(["/health/../search", "/health/%2e%2E/search", "/health/./../search", "/health/..\\search", "/health/.."])(
    "are not those that lead elsewhere: %s",
    async (path) => {
      const admission = createAdmission({ slots: 1, lineMs: 0 });
      admission.acquireNow();
      const server = await serve(withAdmission(admission, (_request, response) => response.end("in")));
      const connection = await RawConnection.open(portOf(server));
      connection.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\nGET /health/..well?a=/../ HTTP/1.1\r\nhost: a\r\n\r\n`);
      expect([(await connection.answer()).status, (await connection.answer()).status]).toEqual([503, 200]);
    },
  );
});
