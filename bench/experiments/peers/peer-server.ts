// The service that all clients of a comparison call, in a process of its own.
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdmission, withAdmission } from "@spillway/admission";
import { ModelServer, type Timeline } from "../retries/model-server.ts";
import { STORM_SERVER } from "../retries/storm.ts";
import type { HangTimes, ServerAsk, ServerReply, Service } from "./peer-messages.ts";

/** Answers in the shapes that the two SDKs take; others take any. */
const MESSAGE = JSON.stringify({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "none",
  content: [{ type: "text", text: "hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});
const COMPLETION = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "none",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
});

/** Connections that a herd opens at one instant. */
const BACKLOG = 4096;
const KEEP_ALIVE_MS = 60_000;
let begun = false;
const arrivalsMs: number[] = [];
const work = { count: 0, ms: 0 };

function serve(url: string, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(url.endsWith("/chat/completions") ? COMPLETION : MESSAGE);
}

/** Serves for so long, and counts how long that was. Returns what cancels it. */
function workFor(delayMs: number, run: () => void): () => void {
  const sinceMs = performance.now();
  const timer = setTimeout(() => {
    work.count++;
    work.ms += performance.now() - sinceMs;
    run();
  }, delayMs);
  return () => clearTimeout(timer);
}

/** All that the model of the storm does after a while is to have served. */
const realTime: Timeline = {
  get nowMs() {
    return performance.now();
  },
  at: (_atMs, run) => {
    run();
    return () => undefined;
  },
  after: workFor,
};

function herdListener(hint: "none" | "second"): RequestListener {
  const model = new ModelServer(realTime, { ...STORM_SERVER, hint, handlingMs: 0 });
  return (request, response) => {
    void model.handle().then(({ status, headers }) => {
      if (status === 200) serve(request.url ?? "/", response);
      else response.writeHead(status, Object.fromEntries(headers)).end();
    });
  };
}

function hangingListener({ hangsFromMs, hangsToMs }: HangTimes): RequestListener {
  let startMs: number | undefined;
  return (request, response) => {
    startMs ??= performance.now();
    const atMs = performance.now() - startMs;
    if (atMs < hangsFromMs || atMs >= hangsToMs) serve(request.url ?? "/", response);
  };
}

/** Our admission, which has served before and knows how long its work takes. */
async function admissionListener(): Promise<RequestListener> {
  const { slots, serviceMs } = STORM_SERVER;
  const admission = createAdmission({ slots });
  const before = async (): Promise<void> => {
    const permit = await admission.acquire();
    await new Promise<void>((resolve) => workFor(serviceMs, resolve));
    if (permit.admitted) permit.release();
  };
  await Promise.all(Array.from({ length: slots }, before));
  return withAdmission(admission, (request, response) => {
    workFor(serviceMs, () => serve(request.url ?? "/", response));
  });
}

async function listenerOf(service: Service, hang: HangTimes | undefined): Promise<RequestListener> {
  if (service === "herd-none") return herdListener("none");
  if (service === "herd-second") return herdListener("second");
  if (service === "dead") return (_request, response) => response.writeHead(503).end();
  if (service === "hanging") return hangingListener(hang ?? { hangsFromMs: 0, hangsToMs: 0 });
  return admissionListener();
}

async function listen(service: Service, hang: HangTimes | undefined): Promise<number> {
  const answer = await listenerOf(service, hang);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    request.resume();
    if (!begun) return serve(request.url ?? "/", response);
    arrivalsMs.push(performance.now());
    answer(request, response);
  });
  await once(server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }), "listening");
  return (server.address() as AddressInfo).port;
}

function counts(callers: number): ServerReply {
  const last = arrivalsMs[Math.min(callers, arrivalsMs.length) - 1] ?? 0;
  return {
    requests: arrivalsMs.length,
    serviceMs: work.ms / Math.max(1, work.count),
    spreadMs: last - (arrivalsMs[0] ?? 0),
  };
}

function reply(message: ServerReply): void {
  process.send?.(message);
}

process.on("message", (request: ServerAsk) => {
  if (request.ask === "begin") begun = true;
  if (request.ask !== "listen") return reply(request.ask === "counts" ? counts(request.callers) : {});
  listen(request.service, request.hang).then(
    (port) => reply({ port }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
