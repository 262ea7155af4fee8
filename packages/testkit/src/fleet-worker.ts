/** What travels between a fleet and its workers; the number pairs an answer with its question. */
export type FleetMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "question"; readonly id: number; readonly body: unknown }
  | { readonly kind: "answer"; readonly id: number; readonly body: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly message: string };

/**
 * To be called once by a module that a worker fleet runs: tells the fleet that the worker is ready, and answers each
 * message with what `handle` returns, or with its error. The process ends when the fleet lets go of it or dies.
 */
export function answerFleet(handle: (message: unknown) => unknown): void {
  if (process.send === undefined) throw new Error("Only a module that a worker fleet runs can answer one.");
  process.on("message", (message: FleetMessage) => {
    if (message.kind === "question") void answer(message.id, message.body, handle);
  });
  process.once("disconnect", () => process.exit());
  send({ kind: "ready" });
}

async function answer(id: number, body: unknown, handle: (message: unknown) => unknown): Promise<void> {
  try {
    send({ kind: "answer", id, body: await handle(body) });
  } catch (error) {
    send({ kind: "failure", id, message: error instanceof Error ? error.message : String(error) });
  }
}

function send(message: FleetMessage): void {
  // The fleet may be gone by now; the disconnect that follows ends this process.
  if (process.connected) process.send?.(message);
}
