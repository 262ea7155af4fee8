import type { Permit } from "@spillway/admission";
import type { Decision } from "spillway";
import type { SpillwayAdmissionRouteOptions } from "./admission-rule.ts";
import type { SpillwayRouteOptions } from "./route-rule.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** `false` exempts the route, `true` limits it where `global` is false, an object sets its cost and more. */
    spillway?: boolean | SpillwayRouteOptions;
    /** `false`: always served. `true`: guarded where `global` is false or the path is exempt. An object sets its cost and more. */
    spillwayAdmission?: boolean | SpillwayAdmissionRouteOptions;
  }

  interface FastifyRequest {
    /** The latest decision on this request; `null` before it and on routes that are not limited. */
    spillway: Decision | null;
    /** The latest permit of this request; `null` before it and on routes that are not guarded. */
    spillwayAdmission: Permit | null;
  }
}
