import { type AcquireOptions, type Admission, enterWithReply, type Shed, type ShedReply } from "@spillway/admission";
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import { type AdmissionRule, admissionRules, type SpillwayAdmissionOptions } from "./admission-rule.ts";
import { type Guard, isPreflight } from "./guard.ts";
import { keepLast, withGuard } from "./hook-order.ts";
import { logRejection } from "./log-rejection.ts";
import { ShedLog } from "./shed-log.ts";
import { thrownError } from "./thrown-error.ts";

/**
 * Lets in as many requests as the service can do and answers the others with 503, in `onRequest`, before bodies are read. It guards
 * the routes that are registered after it, in its own scope and below. Where the limiter's plugin guards a route too, that one
 * decides first, whichever was registered first. Fails with a `SpillwayError` `ERR_SPILLWAY_INVALID_OPTION` for bad options.
 */
export const spillwayAdmission: FastifyPluginAsync<SpillwayAdmissionOptions> = fp(register, {
  name: "@spillway/fastify/admission",
  fastify: ">=5 <7",
});

async function register(app: FastifyInstance, options: SpillwayAdmissionOptions): Promise<void> {
  // There at run time, but not among the types of Fastify 5.
  const { handlerTimeout = 0 } = app.initialConfig as { readonly handlerTimeout?: number };
  const ruleOf = admissionRules(options, handlerTimeout);
  if (!app.hasRequestDecorator("spillwayAdmission")) app.decorateRequest("spillwayAdmission", null);
  const log = new ShedLog();
  app.addHook("onClose", async () => log.close());
  app.addHook("onRoute", (route) => {
    const rule = ruleOf(route);
    if (rule !== undefined) attach(route, rule.admission, createAdmissionGuard(rule, log));
  });
}

/** The guards of each route by controller, so that no request takes slots of one controller twice. */
const attached = new WeakMap<RouteOptions, Map<Admission, Guard>>();

/** The hooks become a new list: a HEAD twin shares the route's. */
function attach(route: RouteOptions, admission: Admission, guard: Guard): void {
  const guards = attached.get(route) ?? new Map<Admission, Guard>();
  attached.set(route, guards);
  const outer = guards.get(admission);
  const hooks: unknown[] = [route.onRequest ?? []].flat().filter((hook) => hook !== outer);
  route.onRequest = withGuard(hooks, keepLast(guard)) as Guard[];
  guards.set(admission, guard);
}

function optionThrew(thrown: string): string {
  return `An option of spillwayAdmission threw what is no error: ${thrown}.`;
}

/** Makes the hook of a route. A refusal is answered in the same turn; an admitted request goes on in the next one. */
function createAdmissionGuard(rule: AdmissionRule, log: ShedLog): Guard {
  const { admission, askOf, skipsPreflights } = rule;
  return function spillwayAdmissionGuard(request, reply, done) {
    if (skipsPreflights && isPreflight(request)) {
      done();
      return;
    }
    let asked: AcquireOptions | undefined;
    try {
      asked = askOf(request, reply);
    } catch (error) {
      done(thrownError(error, optionThrew));
      return;
    }
    enterWithReply(admission, asked, request.raw, reply.raw, (answer) => {
      // Someone else may have replied meanwhile, a handler timeout for one. The slots go back when that reply closes.
      if (reply.sent || reply.raw.headersSent) return;
      if (answer.admitted) {
        request.spillwayAdmission = answer;
        done();
        return;
      }
      try {
        refuse(rule, answer, request, reply, log);
      } catch (error) {
        done(thrownError(error, optionThrew));
      }
    });
  };
}

function refuse(rule: AdmissionRule, shed: Shed, request: FastifyRequest, reply: FastifyReply, log: ShedLog): void {
  if (rule.onShed !== undefined) logRejection(rule.onShed(request, shed), "onShed", request);
  if (rule.log) log.note(request, shed);
  const { headers, body } = rule.replyOf(shed);
  if (rule.onSend) reply.code(503).headers(headers).send(body);
  else reply.raw.writeHead(503, withHeadersOf(reply, headers)).end(body);
}

/** What earlier hooks have set, CORS fields for one, goes along. */
function withHeadersOf(reply: FastifyReply, headers: ShedReply["headers"]): ShedReply["headers"] {
  const earlier = reply.getHeaders() as ShedReply["headers"];
  for (const _name in earlier) return { ...earlier, ...headers };
  return headers;
}
