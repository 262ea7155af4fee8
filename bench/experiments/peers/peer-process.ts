import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ClientAsk, ClientReply, ServerAsk, ServerReply } from "./peer-messages.ts";

const ANSWER_WITHIN_MS = 20_000;

/** What one run gave: what the callers saw, and how many requests reached the service. */
export interface PeerRun extends ClientReply {
  readonly requests: number;
  /** What serving one took on average. */
  readonly serviceMs: number;
  /** Over how long a herd came in; no herd, when that is long. */
  readonly spreadMs: number;
}

/**
 * One service, and callers who call it, each in a process of its own that ends with the run.
 * @param withinMs an upper bound of the whole.
 * @throws Error when a process fails or the time is over.
 */
export async function runPeers(
  service: ServerAsk & { ask: "listen" },
  asks: (url: string) => ClientAsk,
  withinMs: number,
): Promise<PeerRun> {
  const server = start("peer-server.js");
  const client = start("peer-client.js");
  try {
    const { port, error } = await exchange<ServerReply>(server, service, ANSWER_WITHIN_MS);
    if (port === undefined) throw new Error(error ?? "the service does not listen");
    const ask = asks(`http://127.0.0.1:${port}`);
    if (ask.ask === "herd") await exchange<ClientReply>(client, { ...ask, ask: "prepare" }, ANSWER_WITHIN_MS);
    await exchange<ServerReply>(server, { ask: "begin" }, ANSWER_WITHIN_MS);
    const result = await exchange<ClientReply>(client, ask, withinMs);
    if (result.error !== undefined) throw new Error(result.error);
    const counts = { ask: "counts", callers: ask.ask === "herd" ? ask.callers : 0 } as const;
    const { requests = 0, serviceMs = 0, spreadMs = 0 } = await exchange<ServerReply>(server, counts, ANSWER_WITHIN_MS);
    return { ...result, requests, serviceMs, spreadMs };
  } finally {
    await Promise.all([end(server), end(client)]);
  }
}

/** Works through `items`, a few at a time, and keeps their order. */
export async function inParallel<Item, Result>(
  atOnce: number,
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await run(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}

/** Proxies that the environment names are none of a loopback's. */
function start(file: string): ChildProcess {
  const env = { ...process.env, NO_PROXY: "*", no_proxy: "*" };
  return fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: [], env });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

function exchange<Reply>(child: ChildProcess, ask: ServerAsk | ClientAsk, withinMs: number): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const settle = (run: () => void): void => {
      clearTimeout(timer);
      child.off("message", answered).off("exit", gone);
      run();
    };
    const answered = (reply: unknown): void => settle(() => resolve(reply as Reply));
    const gone = (): void => settle(() => reject(new Error("a process of the comparison ended")));
    const timer = setTimeout(() => settle(() => reject(new Error(`no answer within ${withinMs} ms`))), withinMs);
    child.once("message", answered).once("exit", gone);
    child.send(ask);
  });
}
