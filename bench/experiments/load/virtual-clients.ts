import { type AdmissionOptions, createAdmission, readDeadlineMs, shedReplies } from "@spillway/admission";
import { type ClientOptions, createClient } from "@spillway/client";
import { seededRandom } from "../../simulator/random.ts";
import { virtualClock } from "../../simulator/virtual-clock.ts";
import { VirtualLoop } from "../../simulator/virtual-loop.ts";
import { CLIENT_HOPS } from "../retries/storm.ts";
import { virtualFetch } from "../retries/virtual-fetch.ts";

/** Users who all go through one client of ours to a service behind our admission control. */
export interface ClientsPlan {
  readonly admission: AdmissionOptions;
  readonly client: ClientOptions;
  readonly perSecond: number;
  readonly seconds: number;
  readonly workMs: (nowMs: number) => number;
}

export interface ClientsResult {
  offered: number;
  /** Requests that reached the service. */
  attempts: number;
  ok: number;
  /** Users who were answered in the 200s, by quarter of a second in which they came. */
  readonly okByQuarter: number[];
}

const AFTER_MS = 60_000;

/** Time is virtual, client and admission control are the real ones. */
export async function runClients(plan: ClientsPlan): Promise<ClientsResult> {
  const loop = new VirtualLoop(CLIENT_HOPS);
  const clock = virtualClock(loop, 0);
  const result: ClientsResult = { offered: 0, attempts: 0, ok: 0, okByQuarter: [] };
  const serve = service(plan, loop, result);
  const client = createClient({ ...plan.client, fetch: virtualFetch(loop, 1, serve), clock, random: seededRandom(1) });
  const calls: Promise<void>[] = [];
  const everyMs = 1000 / plan.perSecond;
  for (let atMs = 0; atMs < plan.seconds * 1000; atMs += everyMs) {
    loop.at(atMs, () => {
      result.offered++;
      calls.push(
        client.request("http://service.test/").then((outcome) => {
          if (outcome.kind !== "answered" || !outcome.response.ok) return;
          result.ok++;
          const quarter = Math.floor(atMs / 250);
          result.okByQuarter[quarter] = (result.okByQuarter[quarter] ?? 0) + 1;
        }),
      );
    });
  }
  await loop.runUntil(plan.seconds * 1000 + AFTER_MS);
  await Promise.all(calls);
  return result;
}

function service(
  { admission: options, workMs }: ClientsPlan,
  loop: VirtualLoop,
  result: ClientsResult,
): (headers: Headers) => Promise<Response> {
  const admission = createAdmission({ ...options, clock: virtualClock(loop, 0), random: seededRandom(2) });
  const replyTo = shedReplies(false);
  return async (headers) => {
    result.attempts++;
    const deadlineMs = readDeadlineMs(Object.fromEntries(headers));
    const permit = await admission.acquire(deadlineMs === undefined ? {} : { deadlineMs });
    if (!permit.admitted) {
      const { headers: fields, body } = replyTo(permit);
      return new Response(body, { status: 503, headers: fields as Record<string, string> });
    }
    await new Promise<void>((resolve) => void loop.after(workMs(loop.nowMs), resolve));
    permit.release();
    return new Response(null, { status: 200 });
  };
}
