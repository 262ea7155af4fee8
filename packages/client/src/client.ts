import { invalidOption } from "spillway/kit";
import { Call } from "./call.ts";
import { CallSetting, type SharedState } from "./call-setting.ts";
import { ClientCounters } from "./client-counters.ts";
import type { CallOptions, ClientOptions } from "./client-options.ts";
import { type ClientSettings, resolveClientOptions } from "./client-settings.ts";
import { type ClientStats, clientStats } from "./client-stats.ts";
import type { Fetch, FetchInit, FetchInput } from "./fetch-types.ts";
import { Origin } from "./origin.ts";
import { type Outcome, rememberOutcome } from "./outcome.ts";
import { QuotaGate } from "./quota-gate.ts";
import { RecentMap } from "./recent-map.ts";
import { type RequestTraits, requestTraits } from "./request-traits.ts";

/** A fetch that retries politely. It may be shared by everything in a process: what it learns of an origin helps all calls. */
export interface Client {
  /**
   * As the platform's `fetch`, needing no `this`. It answers with the last response, whatever its status. It rejects with what
   * the platform's rejects with, with the reason of an abort, or with a `ClientError` when this client refused the call or its
   * time was over. `outcomeOf` tells of either how it came about.
   */
  readonly fetch: Fetch;
  /**
   * The same with the outcome as a value: also a refusal, a timeout and a network error resolve. It rejects only with the reason
   * of the caller's abort, and for bad arguments.
   */
  request(input: FetchInput, init?: FetchInit, options?: CallOptions): Promise<Outcome>;
  stats(): ClientStats;
}

/**
 * Makes a client. Nothing is started: it holds no timer and no socket while no call is under way, and needs no closing.
 * @throws SpillwayError `ERR_SPILLWAY_INVALID_OPTION`.
 */
export function createClient(options: ClientOptions = {}): Client {
  const parts = new ClientParts(resolveClientOptions(options));
  return {
    fetch: async (input: FetchInput, init?: FetchInit) => {
      const outcome = await parts.request(input, init, {});
      if (outcome.kind === "answered") return outcome.response;
      throw outcome.error;
    },
    request: (input, init, callOptions = {}) => parts.request(input, init, callOptions),
    stats: () => parts.stats(),
  };
}

/** Headers that say on whose account a request is. */
const CREDENTIALS = ["authorization", "x-api-key", "api-key"];

class ClientParts {
  readonly #settings: ClientSettings;
  readonly #counters = new ClientCounters();
  readonly #origins: RecentMap<Origin>;
  readonly #gates: RecentMap<QuotaGate>;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
    this.#origins = new RecentMap(settings.maxOrigins);
    this.#gates = new RecentMap(settings.maxOrigins);
  }

  async request(input: FetchInput, init: FetchInit | undefined, options: CallOptions): Promise<Outcome> {
    const request = requestTraits(input, init);
    const call = new CallSetting(this.#settings, input, init, request, this.#sharedBy(request), options);
    this.#counters.calls++;
    const outcome = await new Call(call).run();
    rememberOutcome(outcome);
    return outcome;
  }

  stats(): ClientStats {
    return clientStats(this.#counters, this.#origins.values(), this.#settings.clock.monotonicMs());
  }

  #sharedBy(request: RequestTraits): SharedState {
    const { scope, retry } = this.#settings;
    const url = parsed(request.url);
    // What is no absolute URL is the matter of the given fetch; such calls share one place.
    const name = url?.origin ?? "";
    const account =
      url === undefined || scope === undefined
        ? [name, ...CREDENTIALS.map((header) => request.headers.get(header) ?? "")].join("\n")
        : requireText(scope({ url, method: request.method, headers: request.headers }));
    return {
      origin: this.#origins.obtain(name, () => new Origin(name, this.#settings)),
      gate: this.#gates.obtain(account, () => new QuotaGate(retry.maxRetryAfterMs)),
      counters: this.#counters,
    };
  }
}

function requireText(scope: unknown): string {
  if (typeof scope !== "string") throw invalidOption("scope", "a function that gives text, at once", scope);
  return scope;
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
