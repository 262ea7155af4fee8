import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { LoadOrder } from "./live-load.ts";

/** What the live page shows, and what it may ask for. */
export interface LiveServerParts {
  readonly modes: readonly string[];
  page(): string;
  /** The parts of the page that change, by their ids. */
  parts(): Record<string, string>;
  startLoad(order: LoadOrder): void;
  stopLoad(): void;
  /** Takes the store away from mode `outage`, or gives it back. `undefined` when that is not possible. */
  readonly setReachable: ((reachable: boolean) => Promise<void>) | undefined;
}

/** The page, its stream of figures, and its orders. */
export interface LiveServer {
  readonly app: FastifyInstance;
  /** Sends what has changed to every page that is open. */
  publish(): void;
}

const MOST_PER_SECOND = 10_000;
const LONGEST_S = 600;

/** Orders are JSON: a page of somebody else's in the same browser cannot give one without asking first. */
export function createLiveServer(parts: LiveServerParts): LiveServer {
  const app = Fastify({ forceCloseConnections: true });
  const streams = new Set<FastifyReply["raw"]>();
  const write = (stream: FastifyReply["raw"]): void => {
    stream.write(`data: ${JSON.stringify(parts.parts())}\n\n`);
  };
  app.get("/", async (_request, reply) => reply.type("text/html; charset=utf-8").send(parts.page()));
  app.get("/figures", (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    streams.add(reply.raw);
    request.raw.on("close", () => streams.delete(reply.raw));
    write(reply.raw);
  });
  app.post("/load", async (request, reply) => {
    const order = readOrder(request.body, parts.modes);
    if (typeof order === "string") return reply.code(400).send({ message: order });
    parts.startLoad(order);
    return reply.code(202).send(order);
  });
  app.delete("/load", async (_request, reply) => {
    parts.stopLoad();
    return reply.code(202).send({});
  });
  app.post("/store", async (request, reply) => {
    const reachable = (request.body as { reachable?: unknown } | null | undefined)?.reachable;
    if (typeof reachable !== "boolean") return reply.code(400).send({ message: "reachable must be true or false." });
    if (parts.setReachable === undefined) return reply.code(409).send({ message: "This store cannot be cut off." });
    await parts.setReachable(reachable);
    return reply.code(202).send({ reachable });
  });
  const publish = (): void => {
    for (const stream of streams) write(stream);
  };
  return { app, publish };
}

/** The order, or why it is none. */
function readOrder(body: unknown, modes: readonly string[]): LoadOrder | string {
  const { mode, perSecond, seconds } = (body ?? {}) as Partial<Record<keyof LoadOrder, unknown>>;
  if (typeof mode !== "string" || !modes.includes(mode)) return `mode must be one of ${modes.join(", ")}.`;
  if (!isWhole(perSecond, MOST_PER_SECOND)) return `perSecond must be a whole number from 1 to ${MOST_PER_SECOND}.`;
  if (!isWhole(seconds, LONGEST_S)) return `seconds must be a whole number from 1 to ${LONGEST_S}.`;
  return { mode, perSecond, seconds };
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most;
}
