// The clients that the lab compares, each at its defaults and at the best that its options allow for a service that sheds.
import Anthropic from "@anthropic-ai/sdk";
import { StandardRetryStrategy } from "@smithy/util-retry";
import { type ClientOptions, createClient } from "@spillway/client";
import { ConsecutiveBreaker, circuitBreaker, ExponentialBackoff, handleAll, retry } from "cockatiel";
import got from "got";
import ky from "ky";
import OpenAI from "openai";
import CircuitBreaker from "opossum";
import { Agent, RetryAgent, request } from "undici";
import type { BreakerName, LibraryName } from "./library-names.ts";

/** Calls a URL the way a library does, retries included. @returns whether it was served. */
export type Caller = () => Promise<boolean>;

/** Makes what one process that calls `url` has. */
type Maker = (url: string) => Caller;

export interface Library {
  readonly defaults: Maker;
  /** Enough tries, the shortest waits that do not overload, all jitter that there is; none where nothing can be set. */
  readonly best?: Maker;
  /** As many tries as by default with shorter waits, where waits behind waits would take ten minutes. */
  readonly hasty?: Maker;
}

/** For those without an option for full jitter a short ceiling is best: in lockstep every wait is one herd less. */
const CEILING_MS = 1000;
const TRIES = 50;

export const LIBRARIES: Readonly<Record<LibraryName, Library>> = {
  "@spillway/client": {
    defaults: (url) => ours(url, {}),
    best: (url) => ours(url, { deadline: "60s", retry: 20 }),
  },
  "undici RetryAgent": {
    defaults: (url) => undiciCaller(url, {}),
    best: (url) => undiciCaller(url, { maxRetries: TRIES, minTimeout: 100, maxTimeout: CEILING_MS }),
    hasty: (url) => undiciCaller(url, { minTimeout: 10, maxTimeout: 20 }),
  },
  got: {
    defaults: (url) => async () => (await got(url)).ok,
    best: (url) => async () => (await got(url, { retry: { limit: TRIES, backoffLimit: CEILING_MS } })).ok,
  },
  ky: {
    defaults: (url) => async () => (await ky(url)).ok,
    best: (url) => async () => (await ky(url, { retry: { limit: TRIES, backoffLimit: 5000, jitter: true } })).ok,
  },
  "Anthropic SDK": {
    defaults: (url) => anthropic(url, {}),
    best: (url) => anthropic(url, { maxRetries: TRIES }),
  },
  "OpenAI SDK": {
    defaults: (url) => openai(url, {}),
    best: (url) => openai(url, { maxRetries: TRIES }),
  },
  "@smithy/util-retry": {
    defaults: (url) => smithy(url, 3),
    best: (url) => smithy(url, TRIES),
  },
  cockatiel: {
    // Its own default is to retry at once and for ever; this is what its read-me begins with.
    defaults: (url) => cockatiel(url, { maxAttempts: 3, backoff: new ExponentialBackoff() }),
    best: (url) =>
      cockatiel(url, { maxAttempts: TRIES, backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 5000 }) }),
  },
  opossum: { defaults: (url) => opossum(url, {}) },
};

/** The breakers, asked to try again after `openMs`; everything else as it is by default. */
export const BREAKERS: Readonly<Record<BreakerName, (url: string, openMs: number) => Caller>> = {
  "@spillway/client": (url, openMs) => ours(url, { ...patient, breaker: { openFor: openMs } }),
  "no breaker": (url) => ours(url, patient),
  cockatiel: (url, halfOpenAfter) => {
    const policy = circuitBreaker(handleAll, { halfOpenAfter, breaker: new ConsecutiveBreaker(5) });
    return () => policy.execute(() => plain(url, AbortSignal.timeout(PATIENCE_MS)));
  },
  opossum: (url, resetTimeout) => opossum(url, { resetTimeout }),
};

const PATIENCE_MS = 10_000;
const patient: ClientOptions = { retry: 0, budget: false, throttle: false, deadline: PATIENCE_MS };

function ours(url: string, options: ClientOptions): Caller {
  const client = createClient(options);
  return async () => {
    const response = await client.fetch(url);
    await response.arrayBuffer();
    return response.ok;
  };
}

/** A request that throws where it is not served, for libraries that repeat what throws. */
async function plain(url: string, signal?: AbortSignal): Promise<boolean> {
  const response = await fetch(url, signal === undefined ? {} : { signal });
  await response.arrayBuffer();
  if (!response.ok) throw Object.assign(new Error(`status ${response.status}`), { headers: response.headers });
  return true;
}

function undiciCaller(url: string, options: ConstructorParameters<typeof RetryAgent>[1]): Caller {
  const dispatcher = new RetryAgent(new Agent(), options);
  return async () => {
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    return statusCode === 200;
  };
}

function anthropic(baseURL: string, options: { maxRetries?: number }): Caller {
  const client = new Anthropic({ ...options, baseURL, apiKey: "none" });
  const message = { model: "none", max_tokens: 1, messages: [{ role: "user" as const, content: "hello" }] };
  return async () => (await client.messages.create(message)).type === "message";
}

function openai(baseURL: string, options: { maxRetries?: number }): Caller {
  const client = new OpenAI({ ...options, baseURL, apiKey: "none" });
  const completion = { model: "none", messages: [{ role: "user" as const, content: "hello" }] };
  return async () => (await client.chat.completions.create(completion)).object === "chat.completion";
}

function smithy(url: string, maxAttempts: number): Caller {
  const strategy = new StandardRetryStrategy(maxAttempts);
  return async () => {
    for (let token = await strategy.acquireInitialRetryToken("lab"); ; ) {
      try {
        const served = await plain(url);
        strategy.recordSuccess(token);
        return served;
      } catch (error) {
        const retryAfterHint = hintOf(error);
        const hint = retryAfterHint === undefined ? {} : { retryAfterHint };
        token = await strategy.refreshRetryTokenForRetry(token, { errorType: "TRANSIENT", ...hint });
      }
    }
  };
}

/** Whoever uses the strategy by itself gives it the instant that the answer names. */
function hintOf(error: unknown): Date | undefined {
  const headers = (error as { headers?: Headers }).headers;
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  const waitMs = Number.isNaN(ms) ? 1000 * Number(headers?.get("retry-after") ?? Number.NaN) : ms;
  return Number.isNaN(waitMs) ? undefined : new Date(Date.now() + waitMs);
}

function cockatiel(url: string, options: Parameters<typeof retry>[1]): Caller {
  const policy = retry(handleAll, options);
  return () => policy.execute(() => plain(url));
}

function opossum(url: string, options: Record<string, number>): Caller {
  const breaker = new CircuitBreaker(() => plain(url), options);
  return () => breaker.fire();
}
