import { setTimeout as sleep } from "node:timers/promises";
import { spillway } from "@spillway/fastify";
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from "fastify";
import type { RateLimiterOptions } from "spillway";
import { describe, expect, it, onTestFinished } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();

const CLIENTS = 200;
/** So few at once that nobody waits much longer than told. */
const AT_ONCE = 20;
/** More asks than any of the limits here holds. */
const MOST_ASKS = 500;

async function application(options: Omit<RateLimiterOptions, "store">) {
  const limiter = redis.limiter(options);
  const app = Fastify();
  onTestFinished(() => app.close());
  await app.register(spillway, { limiter, key: ({ headers }) => headers["x-client"] as string });
  app.get("/", async () => "in");
  return { app, limiter };
}

/** Asks until refused and once more, waits as long as the last answer says, and asks again. */
async function comeBack(app: FastifyInstance, client: string): Promise<readonly number[]> {
  const ask = (): Promise<LightMyRequestResponse> => app.inject({ url: "/", headers: { "x-client": client } });
  let answer = await ask();
  for (let asked = 0; answer.statusCode === 200 && asked < MOST_ASKS; asked++) answer = await ask();
  const refused = await ask();
  const waitMs = Number(refused.headers["retry-after"] ?? answer.headers["retry-after"]) * 1000;
  const untilMs = performance.now() + waitMs;
  while (performance.now() < untilMs) await sleep(Math.max(1, untilMs - performance.now()));
  return [answer.statusCode, waitMs, (await ask()).statusCode];
}

async function everybody(app: FastifyInstance, atOnce = AT_ONCE): Promise<readonly (readonly number[])[]> {
  const outcomes: (readonly number[])[] = [];
  for (let first = 0; first < CLIENTS; first += atOnce) {
    const clients = Array.from({ length: atOnce }, (_, i) => `client-${first + i}`);
    outcomes.push(...(await Promise.all(clients.map((client) => comeBack(app, client)))));
  }
  return outcomes;
}

describe("C04 d: of 200 lone clients that wait exactly Retry-After, all are admitted", () => {
  it("with leases", async () => {
    const { app, limiter } = await application({ policies: { name: "leased", limit: 100, period: "1s", burst: 20 } });
    const outcomes = await everybody(app);
    expect(outcomes).toEqual(Array.from({ length: CLIENTS }, () => [429, 1000, 200]));
    expect(limiter.stats().sources.lease).toBeGreaterThan(0);
  }, 60_000);

  it("with the denial cache", async () => {
    const { app, limiter } = await application({ policies: { name: "slow", limit: 1, period: "1s" }, lease: false });
    const outcomes = await everybody(app);
    expect(outcomes).toEqual(Array.from({ length: CLIENTS }, () => [429, 1000, 200]));
    expect(limiter.stats().sources["denial-cache"]).toBeGreaterThanOrEqual(CLIENTS / 2);
  }, 60_000);

  it.each(["fixed-window", "sliding-window-counter", "sliding-window-log"] as const)(
    "of a window (%s)",
    async (algorithm) => {
      // As if unused after 1.6 s, of whatever kind: told as 2 s.
      const period = algorithm === "sliding-window-counter" ? 800 : 1600;
      const { app } = await application({ policies: { name: "window", limit: 1, period, algorithm } });
      // A window has all of its room when it ends: who comes a little later finds it too.
      const outcomes = await everybody(app, CLIENTS / 2);
      expect(outcomes).toEqual(Array.from({ length: CLIENTS }, () => [429, 2000, 200]));
    },
    60_000,
  );
});
