// What does a 503 cost a server, beside the least that Node can do?
import type { ShedServerKind } from "../contestants/http-messages.ts";
import { HttpService } from "../contestants/http-service.ts";
import {
  type Contestant,
  Disqualified,
  type Heat,
  perSecond,
  type Question,
  type Sample,
} from "../harness/question.ts";

const CONNECTIONS = 64;
/** Counted, not timed: on a busy machine a process gets warm late. */
const WARM_UP_REQUESTS = 20_000;
const SHORT_WARM_UP_REQUESTS = 4000;
const WARM_UP_STEP_MS = 100;
const WARM_UP_STEPS = 100;

const PLUGIN: ShedServerKind = "spillway Fastify plugin";
const NODE_HTTP: ShedServerKind = "spillway node:http";
const RAW: ShedServerKind = "raw node:http";
const FASTIFY_FLOOR: ShedServerKind = "Fastify, raw reply in a hook";
const FASTIFY_SEND: ShedServerKind = "Fastify reply.send";

export const httpShed: Question = {
  name: "http-shed",
  asks: "how many 503s a server answers in a second, and what one costs it",
  heats: (bench) => [() => heatOf(bench.quick)],
};

async function heatOf(isQuick: boolean): Promise<Heat> {
  const rate = { unit: "503s/s", better: "more", value: perSecond } as const;
  const cost = { unit: "CPU us/503", better: "less", value: cpuUsEach } as const;
  return {
    contestants: [PLUGIN, NODE_HTTP, RAW, FASTIFY_FLOOR, FASTIFY_SEND].map((kind) => contestant(kind, isQuick)),
    cases: [
      {
        // Fastify alone, with the least that a hook can do, stands at 0.83 to 0.9 of raw node:http.
        ...{ name: "http-shed/fastify", ...rate, ours: PLUGIN, peers: [RAW, FASTIFY_FLOOR] },
        marks: [{ peer: FASTIFY_FLOOR, atLeast: 0.9 }],
      },
      {
        ...{ name: "http-shed/fastify/cpu", ...cost, ours: PLUGIN, peers: [RAW, FASTIFY_FLOOR, FASTIFY_SEND] },
        marks: [{ peer: FASTIFY_FLOOR, atMost: 1.15 }],
      },
      { name: "http-shed/node-http/cpu", ...cost, ours: NODE_HTTP, peers: [RAW] },
    ],
  };
}

/** Of the server: what asks takes CPU too. */
function cpuUsEach({ operations, cpuMs }: Sample): number {
  return (cpuMs * 1000) / operations;
}

/**
 * No two processes of one program are equally fast, by a tenth and more: where the engine puts code and data differs. So each
 * round has a new one, unless a look is enough.
 */
function contestant(kind: ShedServerKind, isQuick: boolean): Contestant {
  let service: HttpService | undefined;
  const restart = async (): Promise<HttpService> => {
    await service?.close();
    service = await HttpService.start(kind, "", 0);
    return service;
  };
  return {
    name: kind,
    check: async () => {
      const { admitted, refused } = await (await restart()).load(1, 20);
      return admitted === 0 && refused > 0 ? undefined : `it let ${admitted} in and turned ${refused} away`;
    },
    async prepare({ number }) {
      if (number > 0 && isQuick) return;
      await warmUp(await restart(), isQuick ? SHORT_WARM_UP_REQUESTS : WARM_UP_REQUESTS);
    },
    async run({ ms }) {
      const serving = service as HttpService;
      const before = await serving.usage();
      const startedMs = performance.now();
      const { admitted, refused } = await serving.load(CONNECTIONS, ms);
      const wallMs = performance.now() - startedMs;
      const after = await serving.usage();
      if (admitted > 0) throw new Disqualified(`it let ${admitted} in`);
      return { operations: refused, wallMs, cpuMs: after.cpuMs - before.cpuMs };
    },
    close: async () => service?.close(),
  };
}

async function warmUp(service: HttpService, requests: number): Promise<void> {
  let asked = 0;
  for (let step = 0; asked < requests && step < WARM_UP_STEPS; step++)
    asked += (await service.load(CONNECTIONS, WARM_UP_STEP_MS)).refused;
}
