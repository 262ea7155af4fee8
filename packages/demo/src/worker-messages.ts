import type { StateChange } from "spillway";
import type { SecondOfAnswers } from "./answer-counts.ts";
import type { ServerSettings } from "./server-app.ts";
import type { StoreAccess } from "./worker-stores.ts";

/** The variable in which a worker finds its {@link WorkerSettings} as JSON. */
export const SETTINGS_VARIABLE = "SPILLWAY_DEMO_WORKER";

/** What a worker is started with. */
export interface WorkerSettings extends ServerSettings {
  readonly store: StoreAccess;
  /** Whether to report every second what was answered. */
  readonly live: boolean;
}

/** From the primary to a worker. The store's messages travel on the same channel and have no `type`. */
export type ToWorker = { readonly type: "stop" };

/** A limiter of a worker lost its store or found it again. */
export interface ModeStateChange {
  readonly mode: string;
  readonly state: StateChange["state"];
  readonly reason: string;
}

/** From a worker to the primary. */
export type FromWorker =
  | { readonly type: "ready"; readonly port: number }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "state"; readonly change: ModeStateChange }
  | { readonly type: "answers"; readonly seconds: readonly SecondOfAnswers[] };
