// The callers of a comparison, in a process of their own: what they cost their event loop is not the service's.
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onBehalfOf } from "@spillway/client";
import { BREAKERS, type Caller, LIBRARIES, type Library } from "./libraries.ts";
import type { ClientAsk, ClientReply, HerdAsk, StreamAsk } from "./peer-messages.ts";

/** Counts calls, whatever becomes of them. */
class CallRecord {
  readonly servedMs: number[] = [];
  readonly failedMs: number[] = [];
  readonly failedAfterMs: number[] = [];
  mostInFlight = 0;
  readonly #startMs = performance.now();
  #inFlight = 0;

  async run(caller: Caller): Promise<void> {
    const sinceMs = performance.now();
    this.#inFlight++;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    const served = await caller().catch(() => false);
    this.#inFlight--;
    const nowMs = performance.now();
    (served ? this.servedMs : this.failedMs).push(nowMs - this.#startMs);
    if (!served) this.failedAfterMs.push(nowMs - sinceMs);
  }

  /** One call each `everyMs` on a schedule that starts now. */
  async stream(caller: Caller, calls: number, everyMs: number): Promise<void> {
    const all: Promise<void>[] = [];
    for (let call = 0; call < calls; call++) {
      const waitMs = this.#startMs + call * everyMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      all.push(this.run(caller));
    }
    await Promise.all(all);
  }
}

/** The callers of a herd, each with a connection that is open: what starts at one instant then comes in at one. */
let prepared: Caller[] = [];

async function run(ask: ClientAsk): Promise<ClientReply> {
  const record = new CallRecord();
  if (isHerd(ask)) {
    if (ask.ask === "prepare") prepared = Array.from({ length: ask.callers }, () => herdMaker(ask)(ask.url));
    await Promise.all(prepared.map((caller) => record.run(caller)));
  } else await record.stream(await callerOf(ask), ask.calls, ask.everyMs);
  const { servedMs, failedMs, failedAfterMs, mostInFlight } = record;
  return { servedMs, failedMs, failedAfterMs, mostInFlight };
}

function isHerd(ask: ClientAsk): ask is HerdAsk {
  return ask.ask === "prepare" || ask.ask === "herd";
}

function herdMaker({ library, settings }: HerdAsk): Library["defaults"] {
  const { defaults, best }: Library = LIBRARIES[library];
  return settings === "best" ? (best ?? defaults) : defaults;
}

async function callerOf(ask: StreamAsk): Promise<Caller> {
  if (ask.ask === "hang") return BREAKERS[ask.breaker](ask.url, ask.openMs);
  const library: Library = LIBRARIES[ask.library];
  if (ask.ask === "stream") return library.defaults(ask.url);
  return (library.hasty ?? library.defaults)(await stackAbove(library, ask.url, ask.layers));
}

/** Services that each call the one below for every request, and fail when it fails. @returns the uppermost one's URL. */
async function stackAbove(library: Library, bottom: string, layers: number): Promise<string> {
  let below = bottom;
  for (let layer = 1; layer < layers; layer++) {
    const call = (library.hasty ?? library.defaults)(below);
    const server = createServer((request, response) => {
      request.resume();
      void onBehalf(request.headers, call).then((served) => response.writeHead(served ? 200 : 503).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    below = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  return below;
}

/** Only our own client takes notice of it. */
function onBehalf(headers: IncomingHttpHeaders, call: Caller): Promise<boolean> {
  return onBehalfOf(headers, () => call().catch(() => false));
}

process.on("message", (ask: ClientAsk) => {
  run(ask).then(
    (reply) => process.send?.(reply),
    (error: unknown) =>
      process.send?.({ servedMs: [], failedMs: [], failedAfterMs: [], mostInFlight: 0, error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
