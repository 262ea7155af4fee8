import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startRedisCluster, startRedisServer } from "@spillway/testkit";
import type { PolicyOptions } from "spillway";
import { describe, expect, it } from "vitest";
import { redisFixture } from "../support/redis-fixture.ts";

const redis = redisFixture();
const MAIN = fileURLToPath(import.meta.resolve("../../packages/spillway/dist/cli/main.js"));
const POLICIES = [
  { name: "burst", limit: 1000, period: "1s", burst: 200_000 },
  { name: "daily", limit: 50, period: "1d", algorithm: "fixed-window" },
] as const;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function spillway(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { timeout: 20_000 }, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err }),
    );
  });
}

const at = (...args: string[]): Promise<Ended> => spillway(...args, "--url", redis.server.url);

async function policyFile(policies: readonly PolicyOptions[] = POLICIES): Promise<string> {
  const file = join(tmpdir(), `spillway-policies-${process.pid}.json`);
  await writeFile(file, JSON.stringify(policies));
  return file;
}

describe("spillway inspect", () => {
  it("shows the buckets of a key as they are stored, and as they stand when it knows the policies", async () => {
    const limiter = redis.limiter({ policies: POLICIES, lease: false });
    await limiter.consume("user {1}", { cost: { burst: 150_000, daily: 3 } });
    const bare = await at("inspect", "user {1}");
    expect([bare.code, bare.err]).toEqual([0, ""]);
    expect(bare.out).toMatch(/:burst:token-bucket +50000 /);
    expect(bare.out).toMatch(/:daily:fixed-window +3 /);
    const { out } = await at("inspect", "user {1}", "--policies", await policyFile(), "--json");
    const { key, buckets, policies } = JSON.parse(out);
    expect(key).toBe("user {1}");
    expect(buckets).toHaveLength(2);
    expect(policies[1]).toMatchObject({ policy: "daily", remaining: 47 });
  });

  it("shows both counts of a sliding window, and the tokens that a log has kept", async () => {
    const policies = (["counter", "log"] as const).map((kind) => ({
      name: kind,
      limit: 10,
      period: "1m" as const,
      algorithm: `sliding-window-${kind}` as const,
    }));
    const limiter = redis.limiter({ policies });
    await limiter.consume("user", { cost: 4 });
    await limiter.consume("user", { cost: { log: 2 } });
    const { buckets } = JSON.parse((await at("inspect", "user", "--json")).out);
    expect(buckets.map(({ bucket }: { bucket: unknown }) => bucket)).toMatchObject([
      { policy: "counter", used: 4, usedBefore: 0, onLease: 0 },
      { policy: "log", used: 6, onLease: 0 },
    ]);
  });

  it("shows that a key is blocked and for how long, and reset ends it", async () => {
    const limiter = redis.limiter({
      policies: [...POLICIES, { name: "log", limit: 9, period: "1h", algorithm: "sliding-window-log" }],
      lease: false,
    });
    await limiter.consume("user", { cost: { burst: 1, daily: 3, log: 2 } });
    await limiter.block("user", "3h");
    const bare = await at("inspect", "user");
    for (const name of ["burst", "daily", "log"]) expect(bare.out).toMatch(new RegExp(`:${name}:.* 3.0 h$`, "m"));
    const { out } = await at("inspect", "user", "--policies", await policyFile(), "--json");
    const { buckets, policies } = JSON.parse(out);
    for (const { bucket } of buckets) expect(bucket.blockedForMs).toBeGreaterThan(10_700_000);
    expect(buckets[1].bucket.used).toBe(3);
    for (const status of policies) expect(status).toMatchObject({ remaining: 0, blockedForMs: expect.any(Number) });
    expect((await at("inspect", "user", "--policies", await policyFile())).out).toMatch(/^burst .* 3.0 h$/m);
    expect(await at("reset", "user", "--policies", await policyFile())).toMatchObject({ code: 0 });
    expect((await at("inspect", "user", "--policies", await policyFile())).out).not.toMatch(/3.0 h$/m);
  });

  it("says that a key without a bucket is as if unused, and of a value that is not ours that it is not", async () => {
    expect((await at("inspect", "nobody")).out).toContain('"nobody" has no bucket');
    const known = await at("inspect", "nobody", "--policies", await policyFile());
    expect(known.out).toContain('"nobody" has no bucket');
    expect(known.out).toMatch(/^burst +1000 +1.0 s +200000 +200000 /m);
    await redis.client.set("spillway:v1:{odd}:burst:token-bucket", "hello", "EX", 60);
    expect((await at("inspect", "odd")).out).toContain("not ours");
  });

  it("tells how many tokens are on lease, and reset does not forget them", async () => {
    const value = Buffer.alloc(89);
    const deathUs = (Date.now() + 60_000) * 1000;
    value[0] = 2;
    for (const [i, number] of [7, 1000, 1, 1000, 0, 0, 0, 5, 1000, deathUs, 0].entries())
      value.writeDoubleLE(number, 1 + 8 * i);
    await redis.client.set("spillway:v1:{busy}:burst:token-bucket", value, "EX", 60);
    const { buckets } = JSON.parse((await at("inspect", "busy", "--json")).out);
    expect(buckets[0].bucket).toMatchObject({ level: 7, onLease: 5 });
    const { code, err } = await at("reset", "busy");
    expect([code, err]).toEqual([1, expect.stringContaining("on lease")]);
    expect(await at("reset", "busy", "--policies", await policyFile())).toMatchObject({ code: 0, err: "" });
  });

  it("tells the same of windows, whose leased tokens are among the used, and reset keeps those", async () => {
    const policies = (["fixed-window", "sliding-window-counter"] as const).map((algorithm) => ({
      ...({ name: algorithm, limit: 100, period: "1h", algorithm } as const),
    }));
    const startUs = (Date.now() - 60_000) * 1000;
    const values = [
      [6, startUs, 9, 5, startUs],
      [7, startUs, 3, 8, 5, startUs],
    ];
    for (const [i, [form, ...numbers]] of values.entries()) {
      const bytes = Buffer.alloc(1 + 8 * numbers.length);
      bytes[0] = form as number;
      for (const [n, number] of numbers.entries()) bytes.writeDoubleLE(number, 1 + 8 * n);
      const { name } = policies[i] as (typeof policies)[number];
      await redis.client.set(`spillway:v1:{busy}:${name}:${name}`, bytes, "EX", 60);
    }
    const inspected = async (): Promise<unknown> => {
      const { buckets } = JSON.parse((await at("inspect", "busy", "--json")).out);
      return buckets.map(({ bucket }: { bucket: { used: number; onLease: number } }) => [bucket.used, bucket.onLease]);
    };
    expect(await inspected()).toEqual([
      [9, 5],
      [8, 5],
    ]);
    expect(await at("reset", "busy")).toMatchObject({ code: 1 });
    expect(await at("reset", "busy", "--policies", await policyFile(policies))).toMatchObject({ code: 0, err: "" });
    expect(await inspected()).toEqual([
      [5, 5],
      [5, 5],
    ]);
  });
});

describe("spillway reset", () => {
  it.each([["without"], ["with"]])("makes a key as if unused, %s its policies", async (how) => {
    const limiter = redis.limiter({ policies: POLICIES, lease: false });
    await limiter.consume("user", { cost: { burst: 200_000, daily: 50 } });
    const options = how === "with" ? ["--policies", await policyFile()] : [];
    expect(await at("reset", "user", ...options)).toMatchObject({ code: 0, err: "" });
    expect((await limiter.peek("user")).policies.map(({ remaining }) => remaining)).toEqual([200_000, 50]);
  });
});

describe("spillway doctor", () => {
  it("finds nothing wrong with a healthy server", async () => {
    const { code, out, err } = await at("doctor", "--deadline", "5000");
    expect([code, err]).toEqual([0, ""]);
    for (const what of ["version", "rights", "eviction", "persistence", "clock", "scripts", "round trip"])
      expect(out).toMatch(new RegExp(`^ok +${what}`, "m"));
    expect(out).toMatch(/^ok +eviction +noeviction; [\d.]+M used, without a limit$/m);
    expect(out).toMatch(/^ok +scripts +all 6 cached$/m);
  });

  it("says what is wrong, and what to do", async () => {
    await redis.client.config("SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
    await redis.client.call("ACL", "SETUSER", "poor", "on", ">secret", "~other:*", "+@all", "-config");
    redis.afterwards(async () => {
      await redis.client.config("SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
      await redis.client.call("ACL", "DELUSER", "poor");
    });
    const url = redis.server.url.replace("redis://", "redis://poor:secret@");
    const { code, out } = await spillway("doctor", "--url", url, "--json", "--deadline", "5000");
    expect(code).toBe(1);
    const state = Object.fromEntries(JSON.parse(out).checks.map((check: { what: string }) => [check.what, check]));
    expect(state.rights).toMatchObject({ state: "wrong", advice: expect.stringContaining("~spillway:*") });
    expect(state.eviction).toMatchObject({
      state: "wrong",
      found: expect.stringMatching(/^allkeys-lru; .* used of 100/),
      advice: expect.stringContaining("volatile-ttl"),
    });
  });

  it.each([
    ["evalsha", "~spillway*", "-evalsha", "evalsha"],
    ["a command that only some scripts use", "~spillway*", "-get", "lacks a permission"],
    ["the ledger of shares", "~spillway:*", "+@all", "keys"],
  ])("finds that a user may not use %s", async (name, keys, less, found) => {
    const user = name.split(" ").at(-1) as string;
    await redis.client.call("ACL", "SETUSER", user, "on", ">secret", keys, "+@all", less);
    redis.afterwards(async () => void (await redis.client.call("ACL", "DELUSER", user)));
    const url = redis.server.url.replace("redis://", `redis://${user}:secret@`);
    const { code, out } = await spillway("doctor", "--url", url, "--json", "--deadline", "5000");
    const rights = JSON.parse(out).checks[1];
    expect([code, rights]).toMatchObject([
      1,
      {
        what: "rights",
        state: "wrong",
        found: expect.stringContaining(found),
        advice: expect.stringContaining("docs/"),
      },
    ]);
  });

  it("names every check that a user with the least rights does not let it see, and is content", async () => {
    const operations = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
    const least = (/```acl\n\s*(.*)\n\s*```/.exec(operations)?.[1] ?? "").split(" ");
    await redis.client.call("ACL", "SETUSER", "least", "on", ">secret", ...least);
    redis.afterwards(async () => void (await redis.client.call("ACL", "DELUSER", "least")));
    const url = redis.server.url.replace("redis://", "redis://least:secret@");
    const { code, out, err } = await spillway("doctor", "--url", url, "--deadline", "5000");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^ok +rights/m);
    expect(out).toMatch(/^look +scripts +cannot be seen: NOPERM/m);
  });

  it("looks at the slots of a cluster", async () => {
    const cluster = await startRedisCluster();
    try {
      const { host, port } = cluster.seeds[0] as { host: string; port: number };
      const url = `redis://${host}:${port}`;
      const { code, out, err } = await spillway("doctor", "--url", url, "--cluster", "--deadline", "5000");
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(/^ok +slots +16384 of 16384/m);
      const inspected = await spillway("inspect", "key", "--url", url, "--cluster", "--policies", await policyFile());
      expect([inspected.code, inspected.err]).toEqual([0, ""]);
      expect(await spillway("inspect", "key", "--url", url, "--cluster")).toMatchObject({
        code: 1,
        err: expect.stringContaining("--policies"),
      });
      const told = JSON.parse((await spillway("doctor", "--url", url, "--json")).out).checks[1];
      expect(told).toMatchObject({ what: "rights", state: "wrong", advice: expect.stringContaining("--cluster") });
    } finally {
      await cluster.stop();
    }
  }, 60_000);
});

describe("a server that cannot be used", () => {
  it("that wants a password, or another one: it is said, and no password is shown", async () => {
    const server = await startRedisServer({ args: ["--requirepass", "s3:cr/et"] });
    try {
      const bare = await spillway("doctor", "--url", server.url);
      expect(bare).toMatchObject({ code: 1, out: "", err: expect.stringContaining("wants a password") });
      const wrong = await spillway("inspect", "k", "--url", server.url.replace("://", "://:mis:ta/ke@"));
      const coded = await spillway("inspect", "k", "--url", server.url.replace("://", "://:mistake@"));
      expect([wrong.code, coded.code]).toEqual([2, 1]);
      expect(coded.err).toContain("WRONGPASS");
      expect(wrong.err + coded.err).not.toMatch(/mis:|ta\/ke|mistake/);
      const right = server.url.replace("://", `://:${encodeURIComponent("s3:cr/et")}@`);
      expect(await spillway("inspect", "k", "--url", right)).toMatchObject({ code: 0, err: "" });
    } finally {
      await server.stop();
    }
  });

  it("that says nothing: it is given up", async () => {
    redis.afterwards(() => redis.server.resume());
    redis.server.pause();
    for (const ended of await Promise.all([at("doctor"), at("inspect", "k"), at("reset", "k")]))
      expect(ended).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringContaining("cannot be reached: Command timed out"),
      });
  });

  it("that is no cluster: it is said", async () => {
    const ended = await at("doctor", "--cluster");
    expect(ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining("leave --cluster out") });
  });

  it("that is a cluster which is not ready: it is said", async () => {
    const server = await startRedisServer({ args: ["--cluster-enabled", "yes"] });
    try {
      const ended = await spillway("doctor", "--cluster", "--url", server.url);
      expect(ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining("its state is not ok") });
      expect(ended.err).not.toContain("    at ");
    } finally {
      await server.stop();
    }
  });
});

describe("a file of policies that is none", () => {
  it.each([
    ["json", "{", "cannot be read"],
    ["json", '{ "nope": 1 }', "policies.nope"],
    ["mjs", "export const other = 1;", "neither a default export nor one named"],
    ["mjs", 'throw new Error("boom");', "cannot be read: boom"],
    ["mjs", 'export default () => { throw new Error("no tier"); };', "no tier"],
  ])("is named, with what is wrong with it (.%s: %s)", async (kind, content, message) => {
    const file = join(tmpdir(), `spillway-bad-${process.pid}-${content.length}.${kind}`);
    await writeFile(file, content);
    redis.afterwards(() => rm(file));
    const ended = await at("inspect", "key", "--policies", file);
    expect(ended).toMatchObject({ code: 1, out: "", err: expect.stringContaining(message) });
    expect(ended.err).toContain(file);
    expect(ended.err).not.toContain("    at ");
  });
});

describe("a bad call", () => {
  it.each([
    [["nothing"], 2, "There is no command nothing"],
    [["inspect"], 2, "inspect needs a key"],
    [["inspect", "two", "words"], 2, "Too many words"],
    [["doctor", "key"], 2, "doctor takes no key"],
    [["doctor", "--nope"], 2, "--nope"],
    [["doctor", "--url", "localhost"], 2, "redis://"],
    [["doctor", "--url", "redis://127.0.0.1:99999"], 2, "is no URL"],
    [["doctor", "--url", "someone:secret@localhost"], 2, "someone:***@localhost"],
    [["doctor", "--deadline", "soon"], 2, "--deadline"],
    [["doctor", "--deadline", "0x10"], 2, "--deadline"],
    [["doctor", "--policies", "p.json"], 2, "--policies is for inspect and reset"],
    [["inspect", "key", "--deadline", "5"], 2, "--deadline is for doctor"],
    [["doctor", "--prefix", "{a}"], 2, "--prefix"],
    [["inspect", "key", "--policies", "/nowhere.json"], 1, "/nowhere.json cannot be read"],
    [["doctor", "--url", "redis://127.0.0.1:1"], 1, "redis://127.0.0.1:1 cannot be reached"],
  ])("%j ends with %i and says why", async (args, code, message) => {
    const ended = await (args.includes("--policies") ? at(...args) : spillway(...args));
    expect(ended).toMatchObject({ code, out: "", err: expect.stringContaining(message) });
    expect(ended.err).not.toContain("    at ");
  });

  it("without a command shows how it is used", async () => {
    expect(await spillway()).toMatchObject({
      code: 0,
      out: expect.stringContaining("npx spillway <command>"),
      err: "",
    });
  });
});
