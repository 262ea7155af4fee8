import { validateHeaderName, validateHeaderValue } from "node:http";
import { parseArgs } from "node:util";

/** What is offered, and to whom. */
export interface FloodOptions {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Requests per second that count as 1 x; `undefined` to measure what the service can do, and take that. */
  readonly rate: number | undefined;
  /** Multiples of it, one step each. */
  readonly steps: readonly number[];
  /** From one rate to another, in place of steps. */
  readonly ramp: readonly [from: number, to: number] | undefined;
  /** Of each step; of the whole ramp. */
  readonly seconds: number;
  readonly pauseSeconds: number;
  readonly patienceMs: number;
  readonly mostConnections: number;
  readonly keepsConnections: boolean;
  readonly concurrency: number;
  readonly seed: number | undefined;
  readonly json: boolean;
}

/** What the command line got wrong. */
export class FloodOptionError extends Error {
  override readonly name = "FloodOptionError";
}

const MOST_PER_SECOND = 50_000;
const MOST_REQUESTS = 5_000_000;
const STEPS = "0.5,1,1.5,2,4";

export const USAGE: string = `npm run flood -- URL [options]

Offers load to a service of yours: requests leave on a schedule, whether or not earlier ones were answered, and what becomes of
them is counted. Without --rate it first measures what the service can do, each of a few callers asking again as soon as it is
answered, and then offers multiples of that.

  --rate N             requests per second that count as 1x
  --steps LIST         multiples of it, one step each (${STEPS}; with --rate: 1)
  --ramp FROM-TO       from one rate to another in ten equal stretches, in place of steps
  --seconds N          how long each step takes, or the whole ramp (10)
  --pause N            seconds between two steps, so that a line can drain (1)
  --timeout MS         how long a caller waits before it hangs up (1000)
  --connections N      requests under way at most; beyond it a request is counted as failed (10000)
  --concurrency N      callers that measure the capacity (16)
  --method NAME        GET, POST, ... (GET)
  --header 'NAME: VALUE'   sent along; may be given several times
  --body TEXT          sent along
  --poisson SEED       arrivals at random, repeatable by this number, in place of evenly spread ones
  --no-keep-alive      a connection for each request
  --json               one JSON document as the last line of stdout
  --yes-this-is-mine   for a service that is not on this machine: load that its owner did not ask for is an attack

Ctrl-C ends the run and prints what there is. Exits with 1 where nothing answers, with 2 for bad options, with 130 after Ctrl-C.
`;

const OPTIONS = {
  body: { type: "string" },
  concurrency: { type: "string", default: "16" },
  connections: { type: "string", default: "10000" },
  header: { type: "string", multiple: true, default: [] as string[] },
  help: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  method: { type: "string", default: "GET" },
  "no-keep-alive": { type: "boolean", default: false },
  pause: { type: "string", default: "1" },
  poisson: { type: "string" },
  ramp: { type: "string" },
  rate: { type: "string" },
  seconds: { type: "string", default: "10" },
  steps: { type: "string" },
  timeout: { type: "string", default: "1000" },
  "yes-this-is-mine": { type: "boolean", default: false },
} as const;

/** @throws FloodOptionError that says what is wrong with what. */
export function parseFloodOptions(args: readonly string[]): FloodOptions | "help" {
  const { values, positionals } = parsed(args);
  if (values.help) return "help";
  const url = targetOf(positionals, values["yes-this-is-mine"]);
  const rate = optional(values.rate, (text) => numberOf("--rate", text, 0.1, MOST_PER_SECOND));
  if (values.ramp !== undefined && (values.steps !== undefined || rate !== undefined))
    throw new FloodOptionError("--ramp says what is offered by itself: leave out --rate and --steps.");
  const ramp = optional(values.ramp, rampOf);
  const steps = stepsOf(values.steps ?? (rate === undefined ? STEPS : "1"));
  const seconds = numberOf("--seconds", values.seconds, 0.5, 3600);
  if (rate !== undefined) requireBounded(rate * Math.max(...steps), seconds);
  if (ramp !== undefined) requireBounded(Math.max(...ramp), seconds);
  return {
    ...{ url, rate, steps, ramp, seconds, json: values.json, body: values.body },
    method: methodOf(values.method),
    headers: headersOf(values.header),
    pauseSeconds: numberOf("--pause", values.pause, 0, 600),
    patienceMs: numberOf("--timeout", values.timeout, 1, 600_000),
    mostConnections: wholeOf("--connections", values.connections, 1, 60_000),
    concurrency: wholeOf("--concurrency", values.concurrency, 1, 1000),
    keepsConnections: !values["no-keep-alive"],
    seed: optional(values.poisson, (text) => wholeOf("--poisson", text, 0, Number.MAX_SAFE_INTEGER)),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new FloodOptionError(error instanceof Error ? error.message : String(error));
  }
}

/** More than this is no test any more, and would fill the memory of this process. */
export function requireBounded(perSecond: number, seconds: number): void {
  if (perSecond > MOST_PER_SECOND)
    throw new FloodOptionError(
      `That is ${Math.round(perSecond)} requests a second; at most ${MOST_PER_SECOND} are sent.`,
    );
  if (perSecond * seconds > MOST_REQUESTS)
    throw new FloodOptionError(
      `That is ${Math.round(perSecond * seconds)} requests in one step; at most ${MOST_REQUESTS} are sent.`,
    );
}

function targetOf(positionals: readonly string[], isMine: boolean): string {
  const [text, more] = positionals;
  if (text === undefined) throw new FloodOptionError("Which URL? For example http://localhost:3000/search.");
  if (more !== undefined) throw new FloodOptionError(`One URL, please: what is ${more}?`);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new FloodOptionError(`${text} is no URL. A whole one begins with http:// or https://.`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new FloodOptionError(`${text} does not begin with http:// or https://.`);
  if (!isMine && !isLoopback(url.hostname))
    throw new FloodOptionError(
      `${url.hostname} is not this machine. Load that its owner did not ask for is an attack: say --yes-this-is-mine if it is yours.`,
    );
  return url.href;
}

/** As URLs spell it. */
function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname) ||
    hostname === "[::1]"
  );
}

function methodOf(text: string): string {
  const method = text.toUpperCase();
  if (!/^[A-Z]{1,20}$/.test(method) || method === "CONNECT")
    throw new FloodOptionError(`--method takes the name of a method, such as POST, got ${text}.`);
  return method;
}

function headersOf(texts: readonly string[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const colon = text.indexOf(":");
    const [name, value] = [text.slice(0, Math.max(0, colon)).trim(), text.slice(colon + 1).trim()];
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw new FloodOptionError(`--header takes 'name: value', got ${text}.`);
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

function stepsOf(text: string): number[] {
  const steps = text.split(",").map((part) => numberOf("--steps", part, 0.01, 100));
  if (steps.length > 50) throw new FloodOptionError(`--steps takes at most 50 multiples, got ${steps.length}.`);
  return steps;
}

function rampOf(text: string): readonly [number, number] {
  const [from, to, more] = text.split("-");
  if (from === undefined || to === undefined || more !== undefined)
    throw new FloodOptionError(`--ramp takes two rates, such as 50-500, got ${text}.`);
  return [numberOf("--ramp", from, 0.1, MOST_PER_SECOND), numberOf("--ramp", to, 0.1, MOST_PER_SECOND)];
}

function numberOf(option: string, text: string, least: number, most: number): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!(value >= least && value <= most))
    throw new FloodOptionError(
      `${option} takes a number from ${least} to ${most}, got ${text === "" ? "nothing" : text}.`,
    );
  return value;
}

function wholeOf(option: string, text: string, least: number, most: number): number {
  const value = numberOf(option, text, least, most);
  if (!Number.isInteger(value)) throw new FloodOptionError(`${option} takes a whole number, got ${text}.`);
  return value;
}

function optional<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}
