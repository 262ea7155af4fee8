import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createRateLimiter, type RateLimiter, redisStore } from "spillway";
import { expect, it } from "vitest";
import { ownRedis } from "../support/redis-fixture.ts";

const operations = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
const RIGHTS = (/```acl\n\s*(.*)\n\s*```/.exec(operations)?.[1] ?? "").split(" ");

const redis = ownRedis();

async function decideAs(
  name: string,
  rights: readonly string[],
  use: (limiter: RateLimiter) => Promise<void>,
): Promise<void> {
  await redis.client.call("ACL", "SETUSER", name, "on", ">secret", ...rights);
  const client = new Redis(redis.server.url, { username: name, password: "secret" });
  client.on("error", () => {}); // A missing right shows in the decisions.
  const limiter = createRateLimiter({
    store: redisStore(client),
    policies: [
      { name: "second", limit: 5, period: "1s" },
      { name: "minute", limit: 50, period: "1m", algorithm: "fixed-window" },
      { name: "hour", limit: 60, period: "1h", algorithm: "sliding-window-counter" },
      { name: "day", limit: 70, period: "1d", algorithm: "sliding-window-log" },
    ],
    deadlineMs: 2000,
    onStateChange: () => {},
  });
  try {
    await use(limiter);
  } finally {
    await limiter.close();
    client.disconnect();
  }
}

it("the rights that docs/operations.md lists are enough for every operation", async () => {
  await decideAs("listed", RIGHTS, async (limiter) => {
    const decision = await limiter.consume("somebody");
    expect(decision).toMatchObject({ allowed: true, source: "store" });
    for (let i = 0; i < 2; i++) expect(await limiter.consume("somebody")).toMatchObject({ source: "store" });
    await limiter.refund(decision);
    await limiter.reset("somebody");
    expect((await limiter.peek("somebody")).policies.map(({ remaining }) => remaining)).toEqual([5, 50, 60, 70]);
  });
  expect(await redis.client.call("ACL", "LOG")).toEqual([]);
});

it("a right that is missing is named in the error, and no decision waits for it", async () => {
  const less = RIGHTS.filter((right) => right !== "+set");
  await decideAs("less", less, async (limiter) => {
    const decision = await limiter.consume("somebody");
    expect(decision).toMatchObject({ degraded: true, source: "backstop" });
    await expect(limiter.reset("somebody")).rejects.toMatchObject({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE" });
    await expect(limiter.reset("somebody")).rejects.toThrow(/lacks a permission/);
  });
});

it.each(["+getrange", "+setrange", "+get", "+exists", "+pexpire"])(
  "without the right %s nothing is admitted but by the share",
  async (right) => {
    const name = `no-${right.slice(1)}`;
    await decideAs(
      name,
      RIGHTS.filter((other) => other !== right),
      async (limiter) => {
        // The first token of a log is written whole, the second is not.
        for (let i = 0; i < 3; i++) await limiter.consume(name);
        expect(await limiter.consume(name)).toMatchObject({ degraded: true, source: "backstop" });
      },
    );
  },
);
