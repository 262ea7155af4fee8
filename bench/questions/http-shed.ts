// What does a 503 cost a server, beside the least that Node can do?
import { FreshService } from "../contestants/fresh-service.ts";
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

function contestant(kind: ShedServerKind, isQuick: boolean): Contestant {
  const service = new FreshService({ start: () => HttpService.start(kind, "", 0), connections: CONNECTIONS, isQuick });
  return {
    name: kind,
    check: async () => {
      const { admitted, refused } = await (await service.restart()).load(1, 20);
      return admitted === 0 && refused > 0 ? undefined : `it let ${admitted} in and turned ${refused} away`;
    },
    prepare: (round) => service.prepare(round),
    async run(round) {
      const { admitted, refused, wallMs, cpuMs } = await service.run(round);
      if (admitted > 0) throw new Disqualified(`it let ${admitted} in`);
      return { operations: refused, wallMs, cpuMs };
    },
    close: () => service.close(),
  };
}
