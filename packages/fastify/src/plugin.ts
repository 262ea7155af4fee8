import type { FastifyInstance, FastifyPluginAsync, preParsingHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { RateLimiter } from "spillway";
import { exposeHeaders } from "./exposed-headers.ts";
import { createGuard, createNotFoundGuard, type Guard } from "./guard.ts";
import type { HookName } from "./hook-name.ts";
import { withGuard } from "./hook-order.ts";
import { type PluginSettings, resolvePluginOptions, type SpillwayOptions } from "./plugin-options.ts";
import { checkClashes } from "./policy-checks.ts";
import { decorateRequests, toldStatuses } from "./request-notes.ts";
import { type RouteRule, resolveRouteRule } from "./route-rule.ts";
import { TrafficChecks } from "./traffic-checks.ts";
import { checkUncovered } from "./uncovered-routes.ts";

/**
 * Limits the routes that are registered after it, in its own scope and below. Register it with `await`, first.
 * Each registration charges its own limiter; a nested one with the same limiter replaces the outer for its routes.
 * Registration fails with a `SpillwayError` `ERR_SPILLWAY_INVALID_OPTION` for bad options, and so does a route's.
 */
export const spillway: FastifyPluginAsync<SpillwayOptions> = fp(register, {
  name: "@spillway/fastify",
  fastify: ">=5 <7",
});

async function register(app: FastifyInstance, options: SpillwayOptions): Promise<void> {
  const settings = resolvePluginOptions(options);
  decorateRequests(app);
  checkClashes(app, settings.limiter, settings.warn);
  checkUncovered(app, settings.warn, settings.preflights);
  const checks = new TrafficChecks(settings.warn, settings.key !== undefined);
  app.addHook("onRoute", (route) => guardRoute(app, settings, route, checks));
  if (settings.notFound) guardNotFound(app, settings, checks);
  if (settings.exposed.length > 0) exposeFields(app, settings.exposed);
}

function guardRoute(app: FastifyInstance, settings: PluginSettings, route: RouteOptions, checks: TrafficChecks): void {
  const methods = [route.method].flat();
  const target = {
    name: `Route ${methods.join()} ${route.url}`,
    answersOptions: methods.includes("OPTIONS"),
    isTwin: methods.every((method) => method === "HEAD"),
  };
  const rule = resolveRouteRule(settings, route.config?.spillway, target, checks);
  if (rule === undefined) return;
  checkClashes(app, rule.limiter, settings.warn);
  attach(route, rule);
}

/** Behind all that the handler has set, and only on replies that tell of limits. */
function exposeFields(app: FastifyInstance, names: readonly string[]): void {
  app.addHook("onSend", (request, reply, _payload, done) => {
    if (toldStatuses(request) !== undefined) exposeHeaders(reply, names);
    done();
  });
}

/** The guards of each route by limiter, so that no limiter is charged twice for one request. */
const attached = new WeakMap<RouteOptions, Map<RateLimiter, AttachedGuard>>();

interface AttachedGuard {
  readonly hook: HookName;
  readonly handler: unknown;
}

/** Adds the guard behind the route's own hooks of the same stage. The list is a new one: a HEAD twin shares the route's. */
function attach(route: RouteOptions, rule: RouteRule): void {
  const guards = attached.get(route) ?? new Map<RateLimiter, AttachedGuard>();
  attached.set(route, guards);
  const outer = guards.get(rule.limiter);
  if (outer !== undefined) setHooks(route, outer.hook, without(hooksOf(route, outer.hook), outer.handler));
  const handler = handlerFor(rule.hook, createGuard(rule));
  setHooks(route, rule.hook, withGuard(hooksOf(route, rule.hook), handler));
  guards.set(rule.limiter, { hook: rule.hook, handler });
}

function hooksOf(route: RouteOptions, hook: HookName): readonly unknown[] {
  const hooks: unknown = route[hook];
  return hooks === undefined ? [] : [hooks].flat();
}

function setHooks(route: RouteOptions, hook: HookName, hooks: readonly unknown[]): void {
  (route as unknown as Record<HookName, readonly unknown[]>)[hook] = hooks;
}

function without(hooks: readonly unknown[], handler: unknown): readonly unknown[] {
  return hooks.filter((one) => one !== handler);
}

function guardNotFound(app: FastifyInstance, settings: PluginSettings, checks: TrafficChecks): void {
  const target = { name: "A request without a route", answersOptions: true, isTwin: false };
  const rule = resolveRouteRule({ ...settings, cost: 1 }, true, target, checks);
  if (rule === undefined) return;
  // The four hook names have overloads of their own; `handlerFor` gives each the form it takes.
  app.addHook(rule.hook as "onRequest", handlerFor(rule.hook, createNotFoundGuard(rule)) as Guard);
}

/** `preParsing` hooks take the body's stream before `done`. */
function handlerFor(hook: HookName, guard: Guard): Guard | preParsingHookHandler {
  if (hook !== "preParsing") return guard;
  return (request, reply, _payload, done) => guard(request, reply, done as (error?: Error) => void);
}
