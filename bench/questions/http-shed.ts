// What does a 503 cost a server, beside the least that Node can do?
import { HttpServerProcess } from "../harness/http-server-process.ts";
import {
  type Contestant,
  Disqualified,
  type Heat,
  perSecond,
  type Question,
  type Sample,
} from "../harness/question.ts";

const CONNECTIONS = 64;
const SERVER = new URL("../contestants/shed-server.js", import.meta.url);
const WARM_UP_MS = 600;
const SHORT_WARM_UP_MS = 200;

const PLUGIN = "spillway Fastify plugin";
const RAW = "raw node:http";
const FASTIFY_FLOOR = "Fastify, raw reply in a hook";

export const httpShed: Question = {
  name: "http-shed",
  asks: "how many 503s a server answers in a second, and what one costs it",
  heats: (bench) => [() => heat(bench.quick)],
};

async function heat(isQuick: boolean): Promise<Heat> {
  const contestant = (name: string, kind: string): Contestant => contestantOf(name, kind, isQuick);
  const rate = { unit: "503s/s", better: "more", value: perSecond } as const;
  const cost = { unit: "CPU us/503", better: "less", value: cpuUsEach } as const;
  return {
    contestants: [
      contestant(PLUGIN, "fastify"),
      contestant("spillway node:http", "http"),
      contestant(RAW, "raw"),
      contestant(FASTIFY_FLOOR, "fastifyFloor"),
      contestant("Fastify reply.send", "fastifySend"),
    ],
    cases: [
      {
        ...{ name: "http-shed/fastify", ...rate, ours: PLUGIN, peers: [RAW] },
        marks: [{ peer: RAW, atLeast: 0.9 }],
      },
      {
        ...{ name: "http-shed/fastify/cpu", ...cost, ours: PLUGIN, peers: [RAW, FASTIFY_FLOOR, "Fastify reply.send"] },
        marks: [{ peer: FASTIFY_FLOOR, atMost: 1.15 }],
      },
      { name: "http-shed/node-http/cpu", ...cost, ours: "spillway node:http", peers: [RAW] },
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
function contestantOf(name: string, kind: string, isQuick: boolean): Contestant {
  let server: HttpServerProcess | undefined;
  const restart = async (): Promise<HttpServerProcess> => {
    await server?.close();
    server = await HttpServerProcess.start(SERVER, kind, CONNECTIONS);
    return server;
  };
  return {
    name,
    check: async () => {
      const answer = await (await restart()).ask();
      const isRight = answer.startsWith("HTTP/1.1 503 ") && /\r\nretry-after: 1\r\n/i.test(answer);
      return isRight && answer.includes('{"error":"overloaded","reason":"line_full"}')
        ? undefined
        : `it said ${answer}`;
    },
    async prepare({ number }) {
      if (number === 0 || !isQuick) await (await restart()).flood(isQuick ? SHORT_WARM_UP_MS : WARM_UP_MS);
    },
    async run({ ms }) {
      const { answers, wallMs, cpuMs } = await (server as HttpServerProcess).flood(ms);
      if (answers === 0) throw new Disqualified("it answered nothing");
      return { operations: answers, wallMs, cpuMs };
    },
    close: async () => server?.close(),
  };
}
