import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type DemoParts, withParts } from "./demo-parts.ts";
import { LiveFigures } from "./live-figures.ts";
import { LiveLoad } from "./live-load.ts";
import { type LiveScene, type LiveState, renderPage, renderParts } from "./live-page.ts";
import { createLiveServer, type LiveServer } from "./live-server.ts";
import type { DemoOptions } from "./options.ts";
import { describeChange, type OnWorkerMessage, openWorkers } from "./primary.ts";
import type { ProgressLine } from "./progress.ts";
import { describeSkipped } from "./runnable-modes.ts";

const SECOND_MS = 1000;
/** Workers tell of a second within so long after its end. */
const SETTLED_MS = 600;
const MOST_EVENTS = 12;
/** Ctrl-C reaches the store as well: its end is not a loss when we are told to end at the same time. */
const SAME_TIME_MS = 300;

/** Keeps workers running and shows what they do, until `ended`. @throws Error when something could not start, or is lost. */
export async function serveLive(options: DemoOptions, progress: ProgressLine, ended: AbortSignal): Promise<void> {
  const figures = new LiveFigures(options.workers);
  const events: string[] = [];
  const tell = (text: string): void => {
    events.unshift(`${new Date().toLocaleTimeString("en-GB")} ${text}`);
    events.splice(MOST_EVENTS);
  };
  const onMessage: OnWorkerMessage = (worker, message) => {
    if (message.type === "answers") figures.note(worker, message.seconds);
    if (message.type === "state") tell(describeChange(worker, message.change));
  };
  // From when it serves on, it ends in order.
  const starting = new AbortController();
  const giveUp = (): void => starting.abort(ended.reason);
  ended.addEventListener("abort", giveUp);
  const open = (opening: Parameters<typeof openWorkers>[0]) => openWorkers(opening, onMessage);
  await withParts(options, progress, starting.signal, open, async (parts, lost) => {
    ended.removeEventListener("abort", giveUp);
    const live = new Live(options, parts, figures, events, tell);
    try {
      await live.open();
      progress.clear();
      console.log(live.describe());
      await live.runUntil(ended, lost);
    } finally {
      await live.close();
    }
  });
}

class Live {
  readonly #parts: DemoParts;
  readonly #figures: LiveFigures;
  readonly #events: readonly string[];
  readonly #load: LiveLoad;
  readonly #scene: LiveScene;
  readonly #server: LiveServer;
  #isStoreReachable = true;
  #calls: number | undefined;
  #callsPerSecond: number | undefined;

  constructor(
    options: DemoOptions,
    parts: DemoParts,
    figures: LiveFigures,
    events: readonly string[],
    tell: (text: string) => void,
  ) {
    const { fleet, generator, choice, store } = parts;
    const modes = choice.modes.map(({ name }) => name);
    const setReachable = [...parts.routes.values()].find((route) => route.setReachable !== undefined)?.setReachable;
    this.#parts = parts;
    this.#figures = figures;
    this.#events = events;
    this.#load = new LiveLoad(fleet, generator, (error) =>
      tell(error instanceof Error ? error.message : String(error)),
    );
    this.#scene = {
      shape: options,
      modes,
      workers: fleet.names,
      store: store === undefined ? "" : `Store: ${store.kind} ${store.version}, ${store.from}.`,
      perSecond: options.offeredPerSecond,
      canCut: setReachable !== undefined,
      urlOf: (mode) => fleet.urlOf(mode),
    };
    this.#server = createLiveServer({
      modes,
      page: () => renderPage(this.#scene),
      parts: () => renderParts(this.#scene, this.#figures, this.#state(), this.#lastSecond()),
      startLoad: (order) => this.#load.start(order),
      stopLoad: () => void this.#load.stop(),
      setReachable:
        setReachable === undefined
          ? undefined
          : async (reachable) => {
              await setReachable(reachable);
              this.#isStoreReachable = reachable;
              tell(reachable ? "the store is within reach again" : "outage: the store is out of reach");
            },
    });
  }

  async open(): Promise<void> {
    await this.#server.app.listen({ host: "127.0.0.1", port: 0 });
  }

  /** Where everything is, in words. */
  describe(): string {
    const { modes, urlOf } = this.#scene;
    const url = this.#url();
    const mode = modes.includes("lease") ? "lease" : modes[0]!;
    const order = JSON.stringify({ mode, perSecond: 400, seconds: 60 });
    return [
      ...this.#parts.choice.skipped.map(describeSkipped),
      `Live figures:   ${url}`,
      `Limited routes: ${modes.map(urlOf).join("  ")}`,
      `One request:    curl -i -H 'x-api-key: me' ${urlOf(mode)}`,
      `A load:         curl -X POST -H 'content-type: application/json' -d '${order}' ${url}load`,
      "Ctrl-C ends it.",
    ].join("\n");
  }

  async runUntil(ended: AbortSignal, lost: AbortSignal): Promise<void> {
    const over = AbortSignal.any([ended, lost]);
    while (!over.aborted) {
      const untilTickMs = SECOND_MS - ((Date.now() - SETTLED_MS) % SECOND_MS);
      await sleep(untilTickMs, undefined, { signal: over }).catch(() => {});
      if (!over.aborted) await this.#tick();
    }
    if (!ended.aborted) await sleep(SAME_TIME_MS, undefined, { signal: ended }).catch(() => {});
    if (!ended.aborted) throw lost.reason;
  }

  async close(): Promise<void> {
    this.#load.stop();
    await this.#server.app.close();
  }

  async #tick(): Promise<void> {
    const calls = await this.#parts.calls?.total().catch(() => this.#calls);
    if (calls !== undefined) this.#callsPerSecond = calls - (this.#calls ?? calls);
    this.#calls = calls;
    this.#server.publish();
  }

  #state(): LiveState {
    return {
      load: this.#load.description,
      isStoreReachable: this.#isStoreReachable,
      callsPerSecond: this.#callsPerSecond,
      events: this.#events,
    };
  }

  /** The last second that is over and told of. */
  #lastSecond(): number {
    return Math.floor((Date.now() - SETTLED_MS) / SECOND_MS) - 1;
  }

  #url(): string {
    return `http://127.0.0.1:${(this.#server.app.server.address() as AddressInfo).port}/`;
  }
}
