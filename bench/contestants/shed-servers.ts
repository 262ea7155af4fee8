import { createServer, type RequestListener, type Server } from "node:http";
import { type Admission, createAdmission, withAdmission } from "@spillway/admission";
import { spillwayAdmission } from "@spillway/fastify";
import Fastify, { type onRequestHookHandler } from "fastify";
import type { ShedServerKind } from "./http-messages.ts";

/** What an admission controller would say, made by hand. */
const BODY = JSON.stringify({ error: "overloaded", reason: "line_full" });
const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "content-length": BODY.length,
  "retry-after": "1",
  "retry-after-ms": "100",
};

/** Servers that answer every request with 503. */
export const SHED_SERVERS: Readonly<Record<ShedServerKind, () => Promise<Server>>> = {
  "spillway Fastify plugin": async () => {
    const app = Fastify();
    await app.register(spillwayAdmission, { admission: full() });
    app.get("/", async () => "in");
    await app.ready();
    return app.server;
  },
  "spillway node:http": async () => patient(withAdmission(full(), (_request, response) => response.end("in"))),
  "raw node:http": async () => patient((_request, response) => response.writeHead(503, HEADERS).end(BODY)),
  "Fastify, raw reply in a hook": () => refusing((_request, reply) => void reply.raw.writeHead(503, HEADERS).end(BODY)),
  "Fastify reply.send": () => refusing((_request, reply) => void reply.code(503).headers(HEADERS).send(BODY)),
};

/** Its one slot is taken for good, and there is no line. */
function full(): Admission {
  const admission = createAdmission({ slots: 1, lineMs: 0 });
  admission.acquireNow();
  return admission;
}

/** While others have their turn its connections are idle; Fastify is patient by itself. */
function patient(listener: RequestListener): Server {
  return createServer({ keepAliveTimeout: 0 }, listener);
}

async function refusing(onRequest: onRequestHookHandler): Promise<Server> {
  const app = Fastify();
  app.get("/", { onRequest }, async () => "in");
  await app.ready();
  return app.server;
}
