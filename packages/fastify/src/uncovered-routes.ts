import type { FastifyInstance, FastifyRequest } from "fastify";
import { setupWarning, type WarningListener } from "./setup-warning.ts";

/** How many requests of a scope are looked at. */
const MOST_LOOKED_AT = 1000;

/**
 * Warns of routes that were there before the plugin. Routes of the root are all in its reach, so it can say at once. Below the
 * root, routes of other scopes are rightly without it: there the first requests tell, by a mark that each route gets in its
 * configuration as it is added.
 * @param preflights whether these count. Where they do not, a route for OPTIONS alone is no matter: CORS plugins, which come
 * first, add one.
 */
export function checkUncovered(app: FastifyInstance, warn: WarningListener, preflights: boolean): void {
  const routes = app.printRoutes({ commonPrefix: false });
  const methods = (routes.match(/\([A-Z-]+(?:, [A-Z-]+)*\)/g) ?? []).filter((one) => preflights || one !== "(OPTIONS)");
  if (methods.length === 0) return;
  if (isRoot(app)) {
    const message = `Routes were added before the plugin, and are not limited:\n${routes}`;
    warn(setupWarning("SPILLWAY_WARN_ROUTE_NOT_LIMITED", message));
    return;
  }
  const seen = Symbol("spillway.seen");
  app.addHook("onRoute", (route) => {
    route.config = { ...route.config, [seen]: true } as NonNullable<typeof route.config>;
  });
  let looks = MOST_LOOKED_AT;
  app.addHook("onRequest", (request, _reply, done) => {
    const isMatter = preflights || request.routeOptions.method !== "OPTIONS";
    if (looks > 0 && !request.is404 && isMatter) looks = isCovered(request, seen, warn) ? looks - 1 : 0;
    done();
  });
}

function isCovered({ routeOptions }: FastifyRequest, seen: symbol, warn: WarningListener): boolean {
  if (seen in routeOptions.config) return true;
  const message = `Route ${String(routeOptions.method)} ${routeOptions.url} was added before the plugin, and is not limited.`;
  warn(setupWarning("SPILLWAY_WARN_ROUTE_NOT_LIMITED", message));
  return false;
}

/** Each scope has the one around it as its prototype. */
function isRoot(app: FastifyInstance): boolean {
  return !("addHook" in (Object.getPrototypeOf(app) as object));
}
