import type { EventEmitter } from "node:events";

type Socket = Pick<EventEmitter, "once">;

const watched = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls `run` when a connection ends. One listener serves all who watch a connection: dozens of requests may be pipelined on it.
 * @returns what takes it back.
 */
export function onConnectionEnd(socket: Socket, run: () => void): () => void {
  let runs = watched.get(socket);
  if (runs === undefined) {
    const created = new Set<() => void>();
    runs = created;
    watched.set(socket, created);
    socket.once("close", () => {
      for (const each of created) each();
    });
  }
  runs.add(run);
  const all = runs;
  return () => void all.delete(run);
}
