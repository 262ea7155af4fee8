import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesUnder, ROOT, textOf } from "../architecture/source-files.ts";

const STAGE = fileURLToPath(new URL("snippets/stage.mjs", import.meta.url));
const [ADMISSION, FASTIFY, HTTP, CLIENT, SPILLWAY] = ["admission", "fastify", "http", "client", "spillway"].map(
  (name) => `packages/${name}/README.md`,
) as [string, string, string, string, string];

let redis: RedisServer;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  folder = mkdtempSync(join(ROOT, ".cache/snippets-"));
}, 30_000);

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await redis?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** The JavaScript or TypeScript of a page, in its order. */
function snippetsOf(page: string, language = "js|ts"): string[] {
  return [...textOf(page).matchAll(new RegExp(`^\`\`\`(?:${language})\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (match) => match[1] as string,
  );
}

interface Around {
  readonly before?: string;
  readonly after?: string;
}

/** Runs a snippet as it is printed, between what the page has said or takes for granted. */
function run(page: string, index: number, { before = "", after = "" }: Around = {}): ChildProcess {
  const file = join(folder, `${page.replaceAll("/", "-")}-${index}.mjs`);
  writeFileSync(file, `${before}\n${snippetsOf(page)[index]}\n${after}\n`);
  const env = { ...process.env, REDIS_PORT: String(redis.port), KEY_SECRET: "0123456789abcdef" };
  const child = spawn(process.execPath, ["--import", STAGE, file], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env,
  });
  children.push(child);
  return child;
}

/** What it prints until it ends, or until `enough` of it has come. */
async function printed(child: ChildProcess, enough: (text: string) => boolean = () => false): Promise<string> {
  let text = "";
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (enough(text)) return text.trim();
  }
  expect(errors).toBe("");
  return text.trim();
}

/** What the other end of a snippet's own call was sent as `x-request-deadline-ms`, in ms. */
async function passedOn(url: string, headers: Record<string, string> = {}): Promise<number> {
  const sent = (await (await fetch(url, { headers })).json()) as Record<string, string>;
  return Number(sent["x-request-deadline-ms"]);
}

async function urlOf(child: ChildProcess): Promise<string> {
  return /^http:\/\/\S+$/m.exec(await printed(child, (text) => /^http:\/\/\S+\n/m.test(text)))?.[0] as string;
}

/** The answer that a page prints: its status, its fields by lower-case name, and its JSON body. */
function sampleOf(page: string) {
  const [, status = "", lines = "", body = ""] =
    /^```\nHTTP\/1\.1 (\d+)[^\n]*\n([\s\S]*?)\n\n([\s\S]*?)^```$/m.exec(textOf(page)) ?? [];
  const fields = lines.split("\n").map((line) => line.split(": ") as [string, string]);
  return {
    status: Number(status),
    fields: Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])),
    body: JSON.parse(body) as Record<string, unknown>,
  };
}

/** Numbers tell of a moment; all else of an answer is as printed. */
function withoutNumbers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/\b\d+\b/g, "0"));
}

async function expectSample(page: string, answer: Response): Promise<void> {
  const sample = sampleOf(page);
  expect(answer.status).toBe(sample.status);
  const fields = Object.fromEntries(Object.keys(sample.fields).map((name) => [name, answer.headers.get(name)]));
  expect(withoutNumbers(fields)).toEqual(withoutNumbers(sample.fields));
  expect(withoutNumbers(await answer.json())).toEqual(withoutNumbers(sample.body));
}

const FASTIFY_APP =
  'import Fastify from "fastify";\nimport { createRateLimiter } from "spillway";\nconst app = Fastify();';
const LISTEN = "await app.listen({ port: 3000 });";
const LIMITER =
  'import { createRateLimiter } from "spillway";\n' +
  'const limiter = createRateLimiter({ policies: { name: "api", limit: 5, period: "1m" } });';

describe("the snippets of the READMEs run as they are printed", () => {
  it("admission: a node:http server that serves what it can and refuses the rest as the page shows", async () => {
    const url = await urlOf(run(ADMISSION, 0));
    const answers = await Promise.all(Array.from({ length: 80 }, () => fetch(url)));
    const served = answers.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThanOrEqual(8);
    for (const answer of served) expect(await answer.text()).toBe("done\n");
    const refused = answers.filter(({ status }) => status === 503);
    expect(served.length + refused.length).toBe(80);
    // Some have waited for too long by then; the page shows one who found no place.
    const reasons = await Promise.all(
      refused.map(async (answer) => (await answer.clone().text()).includes("line_full")),
    );
    await expectSample(ADMISSION, refused[reasons.indexOf(true)] as Response);
  });

  it("admission: work without HTTP", async () => {
    const before = [
      'import { createAdmission } from "@spillway/admission";',
      "const admission = createAdmission();",
      'const [signal, work, use] = [AbortSignal.timeout(5000), async () => "worked", console.log];',
    ].join("\n");
    expect(await printed(run(ADMISSION, 1, { before }))).toBe("worked");
  });

  it("fastify: a service with two policies, a costly route and an exempt one, and its 429", async () => {
    const url = await urlOf(run(FASTIFY, 0));
    const answers = await Promise.all(Array.from({ length: 60 }, () => fetch(url)));
    expect(await (answers[0] as Response).text()).toBe("hello");
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    await expectSample(FASTIFY, refused[0] as Response);
    expect(await (await fetch(`${url}/health`)).text()).toBe("ok");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await fetch(`${url}/search`)).status).toBe(200);
  });

  it("fastify: several policies, for all, for a route and for a group", async () => {
    const url = await urlOf(run(FASTIFY, 1, { before: FASTIFY_APP, after: LISTEN }));
    const policies = async (path: string): Promise<string[]> => {
      const field = (await fetch(url + path)).headers.get("ratelimit-policy") ?? "";
      return [...field.matchAll(/"([^"]+)"/g)].map((match) => match[1] as string);
    };
    expect(await policies("/")).toEqual(["everybody", "caller"]);
    expect(await policies("/search")).toEqual(["everybody", "caller", "search"]);
    expect(await policies("/suggest")).toEqual(["search"]);
  });

  it("fastify: admission, with the deadline passed on to the next hop", async () => {
    const url = await urlOf(run(FASTIFY, 2, { before: FASTIFY_APP, after: LISTEN }));
    for (const [most, headers] of [
      [700, { "x-request-deadline-ms": "700" }],
      [800, {}],
    ] as const) {
      const passed = await passedOn(`${url}/report`, headers);
      expect(passed).toBeGreaterThan(0);
      expect(passed).toBeLessThanOrEqual(most);
    }
  });

  it("http: middleware for Express, and its 429", async () => {
    const url = await urlOf(run(HTTP, 0));
    const answers = await Promise.all(Array.from({ length: 60 }, () => fetch(url)));
    expect(await (answers[0] as Response).text()).toBe("hello");
    await expectSample(HTTP, answers.find(({ status }) => status === 429) as Response);
    const skipped = await fetch(url, { headers: { "x-health-check": "1" } });
    expect([skipped.status, skipped.headers.get("ratelimit")]).toEqual([200, null]);
  });

  it("http: the same before node:http", async () => {
    const before = `import { createServer } from "node:http";\nimport { rateLimitMiddleware } from "@spillway/http";\n${LIMITER}`;
    const url = await urlOf(run(HTTP, 1, { before, after: "server.listen(3000);" }));
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push((await fetch(url)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it("http: reading what a provider tells of its limits", async () => {
    expect(await printed(run(HTTP, 2, { after: "console.log(waitMs);" }))).toBe("burst 20 11 1000\n3000");
  });

  it("http: a key of several parts, with a secret hashed", async () => {
    const before = `import { createKeyHash, decisionOf, joinKey, rateLimitMiddleware } from "@spillway/http";\n${LIMITER}`;
    const after = [
      'const request = { method: "GET", headers: {}, user: { tenant: "acme", apiKey: "secret" } };',
      "const response = { setHeader() {}, once() {}, off() {} };",
      "limit(request, response, () => console.log(decisionOf(request).key));",
    ].join("\n");
    expect(await printed(run(HTTP, 3, { before, after }))).toMatch(/^acme:[\w-]{22}$/);
  });

  it("client: a call, and what became of it", async () => {
    expect(await printed(run(CLIENT, 0, { after: "console.log(response.status);" }))).toBe("200");
    const after = "console.log(attempts.length, stopped, waitedMs, retryAfterMs);";
    expect(await printed(run(CLIENT, 1, { after }))).toMatch(/^1 answered 0 /);
  });

  it("client: calls on behalf of a request have no more time than it has", async () => {
    const before = `${FASTIFY_APP}\nimport { createClient } from "@spillway/client";\nconst client = createClient();`;
    const after = `app.get("/", async () => (await client.fetch("https://api.example.com/")).json());\n${LISTEN}`;
    const url = await urlOf(run(CLIENT, 2, { before, after }));
    const passed = await passedOn(url, { "x-request-deadline-ms": "900" });
    expect(Number(passed)).toBeGreaterThan(0);
    expect(Number(passed)).toBeLessThanOrEqual(900);
  });

  it("spillway: a decision, and one without any server", async () => {
    const after = "console.log(decision.allowed);\nprocess.exit();";
    expect(await printed(run(SPILLWAY, 0, { after }))).toBe("true");
    expect(await printed(run("README.md", 1, { before: LIMITER, after: "console.log(decision.allowed);" }))).toBe(
      "true",
    );
  });

  it("those in TypeScript pass the type checker", () => {
    const imports = [
      'import cluster from "node:cluster";',
      'import { Redis } from "ioredis";',
      'import { createClient } from "redis";',
      'import { clusterStore, createRateLimiter, fromSendCommand, type PolicyOptions, redisStore, serveClusterStore, type Store } from "spillway";',
      "declare const store: Store;\ndeclare const url: string;\ndeclare const anyClient: { call(...args: string[]): Promise<unknown> };",
    ].join("\n");
    const pages = ["README.md", SPILLWAY].map((page, i) => {
      const file = `typed-${i}.ts`;
      writeFileSync(join(folder, file), `${imports}\n${snippetsOf(page, "ts").join("\n")}\nexport {};\n`);
      return file;
    });
    const compilerOptions = { noEmit: true, composite: false, noUnusedLocals: false };
    const config = { extends: "../../tsconfig.base.json", compilerOptions, files: pages };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { status, stdout } = spawnSync(tsc, ["-p", folder], { encoding: "utf8", timeout: 60_000 });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  }, 60_000);
});

it("every snippet of a page for users is tried by some test", () => {
  const pages = ["README.md", ...filesUnder("packages", ["README.md"]), ...filesUnder("docs", [".md"])];
  const migrating = filesUnder("docs/migrating", [".md"]).filter((page) => !page.endsWith("README.md"));
  const found = Object.fromEntries(
    pages.map((page) => [page, snippetsOf(page).length] as const).filter(([, count]) => count > 0),
  );
  expect(found).toEqual({
    "README.md": 3,
    [ADMISSION]: 2,
    [CLIENT]: 3,
    [FASTIFY]: 3,
    [HTTP]: 4,
    [SPILLWAY]: 2,
    ...Object.fromEntries(migrating.map((page) => [page, 1])),
  });
});
