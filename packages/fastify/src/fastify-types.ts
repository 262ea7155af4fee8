import type { Decision } from "spillway";
import type { SpillwayRouteOptions } from "./route-rule.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** `false` exempts the route, `true` limits it where `global` is false, an object sets its cost and more. */
    spillway?: boolean | SpillwayRouteOptions;
  }

  interface FastifyRequest {
    /** The latest decision on this request; `null` before it and on routes that are not limited. */
    spillway: Decision | null;
  }
}
