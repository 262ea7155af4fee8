import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import type { Decision } from "spillway";
import { describe, expect, it } from "vitest";
import { limitedApp, listen, memoryLimiter, StillClock, withoutLocalState } from "./test-support.ts";

const three = { name: "minute", limit: 3, period: "1m" } as const;
const SOON = { interval: 1, timeout: 5000 };

/** An app that keeps its log lines from warnings on. */
function loggingApp() {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  return { app: Fastify({ logger: { level: "warn", stream } }), lines };
}

/** Sends one request, hangs up once `isReached`, and waits until the server knows. */
async function hangUp(app: FastifyInstance, isReached: () => boolean): Promise<void> {
  const connected = once(app.server, "connection");
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  const [connection] = await connected;
  socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  await expect.poll(isReached, SOON).toBe(true);
  const ended = once(connection, "close");
  socket.destroy();
  await ended;
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

describe("a caller who has hung up", () => {
  it("before a late hook is not taken for one without an address: no error is logged, and no handler runs", async () => {
    const { app, lines } = loggingApp();
    const limiter = memoryLimiter(new StillClock(), three);
    const laters: (() => void)[] = [];
    const preValidation = (_request: unknown, _reply: unknown, done: () => void) => void laters.push(done);
    const handler = async () => void lines.push("handled");
    await limitedApp({ limiter, hook: "preHandler" }, (one) => one.get("/", { preValidation }, handler), app);
    await listen(app);
    await hangUp(app, () => laters.length === 1);
    laters[0]?.();
    await someTurns();
    expect([lines, limiter.stats().allowed]).toEqual([[], 0]);
  });

  it.each<[string, (decision: Decision) => Promise<Decision>]>([
    ["it admits", (decision) => Promise.resolve(decision)],
    ["it fails", () => Promise.reject(new Error("boom"))],
  ])("while the store was asked gets no answer, and no handler runs, where %s", async (_title, answer) => {
    const { app, lines } = loggingApp();
    const real = memoryLimiter(new StillClock(), three);
    const answers: (() => void)[] = [];
    const consume = (): Promise<Decision> =>
      new Promise((resolve) => void answers.push(() => resolve(answer(real.consumeNow("any") as Decision))));
    const handler = async () => void lines.push("handled");
    await limitedApp({ limiter: { ...withoutLocalState(real), consume } }, (one) => one.get("/", handler), app);
    await listen(app);
    await hangUp(app, () => answers.length === 1);
    answers[0]?.();
    await someTurns();
    expect(lines).toEqual([]);
  });
});
