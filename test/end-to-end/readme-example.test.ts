import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RedisServer, startRedisServer } from "@spillway/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readmeExample } from "../architecture/readme.ts";
import { ROOT } from "../architecture/source-files.ts";

const LIMIT = 70;
const BURST = 20;

let redis: RedisServer;
let folder: string;
let service: ChildProcess;
let url: string;

beforeAll(async () => {
  redis = await startRedisServer();
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  folder = mkdtempSync(join(ROOT, ".cache/readme-run-"));
  writeFileSync(join(folder, "example.mjs"), readmeExample());
  service = spawn(process.execPath, ["example.mjs"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, REDIS_URL: redis.url, PORT: "0" },
  });
  url = await announcedUrl(service);
}, 30_000);

afterAll(async () => {
  service?.kill("SIGKILL");
  await redis?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

it("the README's example admits the burst, answers 429 with Retry-After above it, and admits again after that", async () => {
  const started = performance.now();
  const replies = await Promise.all(Array.from({ length: 100 }, () => fetch(url)));
  const seconds = (performance.now() - started) / 1000;

  const admitted = replies.filter(({ status }) => status === 200);
  const refused = replies.filter(({ status }) => status === 429);
  expect(admitted.length + refused.length).toBe(replies.length);
  expect(admitted.length).toBeGreaterThanOrEqual(BURST);
  expect(admitted.length).toBeLessThanOrEqual(BURST + LIMIT * seconds);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers } of refused) expect(headers.get("retry-after")).toBe("1");
  for (const { headers } of replies) {
    expect(headers.get("ratelimit-policy")).toMatch(/^"api";q=70;w=1/);
    expect(headers.get("ratelimit")).toMatch(/^"api";r=\d+/);
  }

  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect((await fetch(url)).status).toBe(200);
}, 30_000);

/** The first line that the example prints: where it listens. */
function announcedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => reject(new Error(`The example did not listen: ${output}`)), 20_000);
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = /^http:\/\/127\.0\.0\.1:\d+$/m.exec(output)?.[0];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`The example ended with ${code}: ${output}`));
    });
  });
}
