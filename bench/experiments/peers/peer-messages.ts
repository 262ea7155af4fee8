import type { BreakerName, LibraryName } from "./library-names.ts";

/** How the service of one run behaves. */
export type Service =
  /** 8 slots of 100 ms and a line of 16; it says nothing, one second, or through our own admission to each its slot. */
  | "herd-none"
  | "herd-second"
  | "herd-slots"
  /** Answers everything with 503. */
  | "dead"
  /** Answers at once, but nothing from `hangsFromMs` to `hangsToMs` after the first request. */
  | "hanging";

export interface HangTimes {
  readonly hangsFromMs: number;
  readonly hangsToMs: number;
}

export type ServerAsk =
  | { readonly ask: "listen"; readonly service: Service; readonly hang?: HangTimes }
  /** From now on it behaves, and counts; before, it serves everything at once. */
  | { readonly ask: "begin" }
  | { readonly ask: "counts" /** How many requests make the herd. */; readonly callers: number };

export interface ServerReply {
  readonly port?: number;
  /** Requests since it began. */
  readonly requests?: number;
  /** What serving one took on average: on a busy machine timers are late, and the service is slower than it should be. */
  readonly serviceMs?: number;
  /** Over how long the requests of the herd came in. */
  readonly spreadMs?: number;
  readonly error?: string;
}

export type Settings = "defaults" | "best";

/** All at one instant, each a caller of its own; `prepare` makes them, and has each call once before. */
export interface HerdAsk {
  readonly ask: "prepare" | "herd";
  readonly library: LibraryName;
  readonly settings: Settings;
  readonly url: string;
  readonly callers: number;
}

/** One call each `everyMs`, all through one caller. */
interface Steady {
  readonly url: string;
  readonly calls: number;
  readonly everyMs: number;
}

export interface DirectAsk extends Steady {
  readonly ask: "stream";
  readonly library: LibraryName;
}

/** A stack of services that call one another; the calls come in at its top. */
export interface StackAsk extends Steady {
  readonly ask: "stack";
  readonly library: LibraryName;
  readonly layers: number;
}

export interface HangAsk extends Steady {
  readonly ask: "hang";
  readonly breaker: BreakerName;
  readonly openMs: number;
}

export type StreamAsk = DirectAsk | StackAsk | HangAsk;
export type ClientAsk = HerdAsk | StreamAsk;

export interface ClientReply {
  /** When each call that was served had its answer, in ms after the first call, in order. */
  readonly servedMs: readonly number[];
  /** When each call that failed did. */
  readonly failedMs: readonly number[];
  /** How long each call that failed took. */
  readonly failedAfterMs: readonly number[];
  readonly mostInFlight: number;
  readonly error?: string;
}
