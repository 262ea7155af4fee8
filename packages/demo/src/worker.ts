import type { AddressInfo } from "node:net";
import { AnswerCounter } from "./answer-counts.ts";
import { createServer } from "./server-app.ts";
import { leaveSignalsToPrimary } from "./signals.ts";
import { type FromWorker, SETTINGS_VARIABLE, type ToWorker, type WorkerSettings } from "./worker-messages.ts";
import { WorkerStores } from "./worker-stores.ts";

const REPORT_EVERY_MS = 200;

/** A worker of the demo: `node:cluster` runs this file, several times, on one port. */
async function main(): Promise<void> {
  leaveSignalsToPrimary();
  const settings = JSON.parse(process.env[SETTINGS_VARIABLE] ?? "{}") as WorkerSettings;
  const stores = await WorkerStores.open(settings.store);
  const counter = new AnswerCounter();
  const server = await createServer(settings, String(process.pid), {
    storeOf: (mode) => stores.storeOf(mode),
    onStateChange: (mode, { state, reason }) => send({ type: "state", change: { mode, state, reason } }),
    ...(settings.live
      ? { onAnswer: (mode, allowed, degraded) => counter.note(mode, allowed, degraded, Date.now()) }
      : {}),
  });
  const timer = settings.live ? setInterval(() => report(counter), REPORT_EVERY_MS) : undefined;
  process.on("message", (message: ToWorker) => {
    if (message.type !== "stop") return;
    clearInterval(timer);
    void server
      .close()
      .then(() => stores.close())
      .finally(() => process.disconnect());
  });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  send({ type: "ready", port: (server.app.server.address() as AddressInfo).port });
}

function report(counter: AnswerCounter): void {
  const seconds = counter.takeFinished(Date.now());
  if (seconds.length > 0) send({ type: "answers", seconds });
}

function send(message: FromWorker): void {
  process.send?.(message);
}

main().catch((error: unknown) => {
  send({ type: "failed", message: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
  process.disconnect();
});
