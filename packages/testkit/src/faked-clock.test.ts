import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { fakedClock, findFakeTime } from "./faked-clock.ts";
import { startRedisServer } from "./redis-server.ts";

it.skipIf(findFakeTime() === undefined)("a server's clock is stepped forward and back while it runs", async () => {
  using clock = fakedClock();
  await using server = await startRedisServer({ env: clock.env });
  const client = new Redis(server.url);
  const aheadS = async (): Promise<number> => Number((await client.time())[0]) - Date.now() / 1000;
  try {
    expect(Math.abs(await aheadS())).toBeLessThan(1.5);
    clock.setAhead(10_000);
    expect(await aheadS()).toBeGreaterThan(8.5);
    await client.set("k", "v", "PX", 5_000);
    clock.setAhead(-10_000);
    expect(await aheadS()).toBeLessThan(-8.5);
    expect(await client.pttl("k")).toBeGreaterThan(20_000);
  } finally {
    client.disconnect();
  }
});
