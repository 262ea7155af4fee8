import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import underPressure from "@fastify/under-pressure";
import { type Admission, createAdmission, withAdmission } from "@spillway/admission";
import { spillwayAdmission } from "@spillway/fastify";
import Fastify, { type FastifyInstance } from "fastify";
import type { Protection, ServicePlan } from "./plan.ts";
import { guardedListener, guardOf } from "./protections.ts";
import type { Worker } from "./worker.ts";

/** Callers' connections may be idle for a while: one that is closed just when it is used again would count as an error. */
const KEEP_ALIVE_MS = 120_000;

export interface RunningService {
  readonly port: number;
  readonly admission: Admission | undefined;
}

/** Starts a service on a free port of the loopback interface. */
export async function startService({ form, protection }: ServicePlan, worker: Worker): Promise<RunningService> {
  const admission = protection.kind === "spillway" ? createAdmission(protection.admission) : undefined;
  if (protection.kind === "under-pressure" && form !== "fastify")
    throw new Error("@fastify/under-pressure needs the form fastify.");
  const port =
    form === "fastify"
      ? await listenFastify(await fastifyService(protection, admission, worker))
      : await listenPlain(plainListener(protection, admission, worker));
  return { port, admission };
}

function plainListener(protection: Protection, admission: Admission | undefined, worker: Worker): RequestListener {
  if (protection.kind !== "spillway" || admission === undefined)
    return guardedListener(guardOf(protection), (isGone) => worker.run(isGone));
  const { deadlineMs } = protection;
  return withAdmission(
    admission,
    (request, response, permit) => {
      if (permit === undefined || request.url === "/health") response.end("up");
      else void worker.run(() => response.destroyed).then(() => response.end("done"));
    },
    deadlineMs === undefined ? {} : { deadlineMs },
  );
}

async function fastifyService(
  protection: Protection,
  admission: Admission | undefined,
  worker: Worker,
): Promise<FastifyInstance> {
  const app = Fastify({ keepAliveTimeout: KEEP_ALIVE_MS });
  if (admission !== undefined && protection.kind === "spillway") {
    const { deadlineMs } = protection;
    await app.register(spillwayAdmission, { admission, ...(deadlineMs === undefined ? {} : { deadlineMs }) });
  }
  if (protection.kind === "under-pressure") {
    const { maxEventLoopDelayMs, sampleMs } = protection;
    await app.register(underPressure, { maxEventLoopDelay: maxEventLoopDelayMs, sampleInterval: sampleMs });
  }
  const guard = guardOf(admission === undefined ? protection : { kind: "none" });
  app.get("/health", async () => "up");
  app.get("/", async (_request, reply) => {
    const outcome = await guard(() => worker.run(() => reply.raw.destroyed));
    if (outcome === "done") return "done";
    return reply.code(503).header("retry-after", "1").send("full");
  });
  return app;
}

async function listenFastify(app: FastifyInstance): Promise<number> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return portOf(app.server);
}

async function listenPlain(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener);
  await once(server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }), "listening");
  return portOf(server);
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
