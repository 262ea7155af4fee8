import type { Script } from "./client.ts";
import { isUnknownScript } from "./redis-errors.ts";

/** Sends one command and gives its reply. */
export type Send = (command: readonly string[]) => Promise<unknown>;

/**
 * Runs a script once: by its hash, and as text only where the server says that it does not know it, and so did not run it.
 * Rejects with what `send` rejects with.
 */
export async function runOnce(
  send: Send,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  const count = String(keys.length);
  try {
    return await send(["EVALSHA", script.sha1, count, ...keys, ...args]);
  } catch (cause) {
    if (!isUnknownScript(cause)) throw cause;
  }
  return await send(["EVAL", script.text, count, ...keys, ...args]);
}
