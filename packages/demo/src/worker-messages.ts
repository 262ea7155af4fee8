import type { DecisionRecord } from "./decision-recorder.ts";

/** The variable in which a worker finds its {@link ServerSettings} as JSON. */
export const SETTINGS_VARIABLE = "SPILLWAY_DEMO_WORKER";

/** From the primary to a worker. */
export type ToWorker =
  /** Asks for the decisions of one mode since the last time. */
  { readonly type: "collect"; readonly mode: string } | { readonly type: "stop" };

/** From a worker to the primary. */
export type FromWorker =
  | { readonly type: "ready"; readonly port: number }
  | { readonly type: "collected"; readonly mode: string; readonly record: DecisionRecord }
  | { readonly type: "failed"; readonly message: string };
