import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesUnder, ROOT, textOf } from "../architecture/source-files.ts";

let redis: RedisServer;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  folder = mkdtempSync(join(ROOT, ".cache/migrating-"));
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await redis?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** Runs the example of a page, each on a database of its own. */
function run(page: string): ChildProcess {
  const examples = [...textOf(page).matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] as string);
  expect(examples).toHaveLength(1);
  const file = join(folder, `${page.replaceAll("/", "-")}.mjs`);
  writeFileSync(file, examples[0] as string);
  const env = { ...process.env, REDIS_URL: `${redis.url}/${children.length}`, PORT: "0" };
  const child = spawn(process.execPath, [file], { cwd: folder, stdio: ["ignore", "pipe", "inherit"], env });
  children.push(child);
  return child;
}

/** The first line that an example prints. */
async function firstLine({ stdout }: ChildProcess): Promise<string> {
  let printed = "";
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    printed += chunk.toString();
    if (printed.includes("\n")) break;
  }
  return printed.split("\n", 1)[0] as string;
}

describe("the examples for those who migrate", () => {
  it.each([
    ["docs/migrating/fastify-rate-limit.md", /^\d\d$/],
    ["docs/migrating/express-rate-limit.md", /^\d{10}$/],
  ])("%s: five requests go in, the sixth does not, and the earlier fields are there", async (page, reset) => {
    const child = run(page);
    const url = await firstLine(child);
    const answers: Response[] = [];
    for (let n = 0; n < 6; n++) answers.push(await fetch(url));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    const { headers } = answers[5] as Response;
    expect(headers.get("retry-after")).toMatch(/^1[0-2]$/);
    expect(headers.get("x-ratelimit-remaining")).toBe("0");
    expect(headers.get("x-ratelimit-reset")).toMatch(reset);
    child.kill();
    await once(child, "exit");
  });

  it.each(["docs/migrating/rate-limiter-flexible.md", "docs/migrating/upstash-ratelimit.md"])(
    "%s: five attempts go in, the sixth does not, and the program ends",
    async (page) => {
      const child = run(page);
      const printed = await text(child.stdout as NodeJS.ReadableStream);
      const left = [4, 3, 2, 1, 0].map((remaining, i) => `${i + 1} in, ${remaining} left`);
      expect(printed.trim().split("\n")).toEqual([...left, "6 out, limited"]);
    },
  );

  it("are of every page", () => {
    expect(filesUnder("docs/migrating", [".md"]).length).toBe(5);
  });

  it("stand beside tables that name options which are there", () => {
    const known = textOf("packages/fastify/src/plugin-options.ts");
    const words = ["legacyHeaders", "allowList", "ban", "body", "onRefused", "notFound", "addresses", "headers", "key"];
    const page = textOf("docs/migrating/fastify-rate-limit.md");
    for (const word of words) {
      expect(page).toContain(`\`${word}`);
      expect(known).toContain(`readonly ${word}?:`);
    }
  });
});
