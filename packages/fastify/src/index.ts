// Types `config.spillway` and `request.spillway` for whoever imports the package.
import "./fastify-types.ts";

export type { KeyFunction } from "./caller-key.ts";
export type { HookName } from "./hook-name.ts";
// Fastify's loaders take a default export, people a named one.
export { spillway, spillway as default } from "./plugin.ts";
export type { SpillwayOptions } from "./plugin-options.ts";
// What a client finds in the JSON body of a refusal.
export type { BodyFunction, RefusalCode } from "./refusal-body.ts";
export type { CostFunction } from "./request-cost.ts";
export type { SpillwayRouteOptions } from "./route-rule.ts";
