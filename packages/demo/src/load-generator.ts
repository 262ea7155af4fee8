import { constants, setPriority } from "node:os";
import { poissonArrivals } from "./arrivals.ts";
import { FreshConnections } from "./fresh-connections.ts";
import type { FromGenerator, LoadPlan, ToGenerator } from "./generator-messages.ts";
import { KeptConnections } from "./kept-connections.ts";
import { LoadTally } from "./load-result.ts";
import { runOneByOne, runOpenLoop } from "./open-loop.ts";
import { prepareRequest, type RequestSender } from "./request-sender.ts";
import { leaveSignalsToPrimary } from "./signals.ts";

const PROGRESS_EVERY_MS = 200;

let ended = new AbortController();

/** The load generator: a process of its own, so that the servers' work does not delay what it sends. */
function main(): void {
  leaveSignalsToPrimary();
  preferThisProcess();
  process.on("disconnect", () => process.exit());
  process.on("message", (message: ToGenerator) => {
    perform(message).catch((error: unknown) => {
      send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
    });
  });
}

/** It works little and must do it on time. Only some users may ask for that, so it is no more than an attempt. */
function preferThisProcess(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGH);
  } catch {
    // It then runs late when the machine is busy, and reports so.
  }
}

async function perform(message: ToGenerator): Promise<void> {
  if (message.type === "warm") return await warm(message.url, message.apiKey, message.count);
  if (message.type === "run") return await run(message.plan);
  return ended.abort();
}

async function warm(url: string, apiKey: string, count: number): Promise<void> {
  const sender = new FreshConnections(prepareRequest(new URL(url), { "x-api-key": apiKey }));
  const answersPerWorker: Record<string, number> = {};
  for (const { worker } of await runOneByOne(sender, count))
    answersPerWorker[worker] = (answersPerWorker[worker] ?? 0) + 1;
  send({ type: "warmed", answersPerWorker });
}

async function run(plan: LoadPlan): Promise<void> {
  const { seed, ratePerSecond, seconds, outage } = plan;
  ended = new AbortController();
  const dueMs = poissonArrivals(seed, ratePerSecond, seconds);
  const sender = await openSender(plan);
  const tally = new LoadTally(seconds, outage);
  const startMs = performance.now();
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startMs;
    send({ type: "progress", progress: { elapsedMs, offered: tally.offered, admitted: tally.admitted } });
  }, PROGRESS_EVERY_MS);
  send({ type: "started" });
  try {
    await runOpenLoop(sender, dueMs, tally, ended.signal);
    send({ type: "finished", result: tally.result() });
  } finally {
    clearInterval(timer);
    sender.close();
  }
}

async function openSender({ url, apiKey, greetingKey, connections, servers }: LoadPlan): Promise<RequestSender> {
  const address = new URL(url);
  if (connections === "one per request") return new FreshConnections(prepareRequest(address, { "x-api-key": apiKey }));
  const kept = (key: string) => prepareRequest(address, { "x-api-key": key }, "keep-alive");
  return await KeptConnections.open(kept(apiKey), kept(greetingKey), servers);
}

function send(message: FromGenerator): void {
  process.send?.(message);
}

main();
