import type { AdmissionOptions, AdmissionStats } from "@spillway/admission";

/** What a service does for one request. */
export type Work =
  /** Waits for something else that does `slots` things at a time, first come first served, in a line without end. */
  | { readonly kind: "sleep"; readonly ms: number; readonly slots: number }
  /** Keeps the process busy for so much of its CPU time, so that what a process gets done can be told apart from what it was given. */
  | { readonly kind: "compute"; readonly ms: number };

/** What stands in front of the work. */
export type Protection =
  | { readonly kind: "none" }
  | { readonly kind: "spillway"; readonly admission: AdmissionOptions; readonly deadlineMs?: number }
  | { readonly kind: "under-pressure"; readonly maxEventLoopDelayMs: number; readonly sampleMs: number }
  /** The bulkhead of cockatiel. */
  | { readonly kind: "bulkhead"; readonly slots: number; readonly line: number }
  | { readonly kind: "opossum"; readonly slots: number }
  | { readonly kind: "p-queue"; readonly slots: number };

/** A service in a process of its own. `/health` is answered at once, and never by a protection that knows to leave it alone. */
export interface ServicePlan {
  readonly form: "node:http" | "fastify";
  readonly protection: Protection;
  readonly work: Work;
}

/** How the process of a service stands. */
export interface ServiceStats {
  /** Work that was finished, and the part of it whose caller had hung up. */
  readonly finished: number;
  readonly forNobody: number;
  /** In the line of the work itself, which no protection sees. */
  readonly waiting: number;
  readonly peakWaiting: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly cpuMs: number;
  /** For how long the process was not called on time. 0 where work computes. */
  readonly stalledMs: number;
  readonly admission: AdmissionStats | undefined;
}

/** What the process of a service is asked. */
export type ServiceRequest =
  | { readonly ask: "listen"; readonly plan: ServicePlan }
  /** @param factor how many times as long as planned work takes from now on. */
  | { readonly ask: "slow"; readonly factor: number }
  /** Keeps the process from everything else for so long. */
  | { readonly ask: "stall"; readonly ms: number }
  | { readonly ask: "collect" }
  | { readonly ask: "stats" };

/** What it answers. */
export interface ServiceReply {
  readonly error?: string;
  readonly port?: number;
  readonly stats?: ServiceStats;
}
