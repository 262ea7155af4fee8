// Types `config.spillway` and `request.spillway` for whoever imports the package.
import "./fastify-types.ts";

// 503 from admission: a plugin of its own, so that an app may have either.
export { spillwayAdmission } from "./admission-plugin.ts";
export type { SpillwayAdmissionOptions, SpillwayAdmissionRouteOptions } from "./admission-rule.ts";
export type { AllowList } from "./allow-list.ts";
export type { BanOptions } from "./ban-table.ts";
export type { KeyFunction } from "./caller-key.ts";
export type { HookName } from "./hook-name.ts";
// Where keys commonly come from.
export { byAddress, byApiKey, byHeader, byUser } from "./key-sources.ts";
// Fastify's loaders take a default export, people a named one.
export { spillway, spillway as default } from "./plugin.ts";
export type { CountingOptions, SpillwayOptions } from "./plugin-options.ts";
// What a client finds in the JSON body of a refusal.
export type { BodyFunction, RefusalCode } from "./refusal-body.ts";
export type { CostFunction } from "./request-cost.ts";
export type { SpillwayRouteOptions } from "./route-rule.ts";
export type { SetupWarning, SetupWarningCode, WarningListener } from "./setup-warning.ts";
