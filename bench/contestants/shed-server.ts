// A server that answers every request with 503, in a process of its own: `shed-server.js <kind>`. It sends its port when it
// listens, and its CPU time whenever it is asked.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Admission, createAdmission, withAdmission } from "@spillway/admission";
import { spillwayAdmission } from "@spillway/fastify";
import Fastify, { type onRequestHookHandler } from "fastify";

/** What an admission controller would say, made by hand. */
const BODY = JSON.stringify({ error: "overloaded", reason: "line_full" });
const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "content-length": BODY.length,
  "retry-after": "1",
  "retry-after-ms": "100",
};

/** Its one slot is taken for good, and there is no line. */
function full(): Admission {
  const admission = createAdmission({ slots: 1, lineMs: 0 });
  admission.acquireNow();
  return admission;
}

const KINDS: Readonly<Record<string, () => Promise<Server> | Server>> = {
  raw: () => createServer((_request, response) => response.writeHead(503, HEADERS).end(BODY)),
  http: () => createServer(withAdmission(full(), (_request, response) => response.end("in"))),
  async fastify() {
    const app = Fastify();
    await app.register(spillwayAdmission, { admission: full() });
    app.get("/", async () => "in");
    await app.ready();
    return app.server;
  },
  fastifyFloor: () => refusing((_request, reply) => void reply.raw.writeHead(503, HEADERS).end(BODY)),
  fastifySend: () => refusing((_request, reply) => void reply.code(503).headers(HEADERS).send(BODY)),
};

async function refusing(onRequest: onRequestHookHandler): Promise<Server> {
  const app = Fastify();
  app.get("/", { onRequest }, async () => "in");
  await app.ready();
  return app.server;
}

async function main(kind: string): Promise<void> {
  const make = KINDS[kind];
  if (make === undefined) throw new Error(`There is no server "${kind}".`);
  const server = await make();
  // While others have their turn the connections are idle.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMs: (user + system) / 1000 });
  });
  process.once("disconnect", () => process.exit(0));
}

await main(process.argv[2] ?? "");
