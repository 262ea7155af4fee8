import { expect, it } from "vitest";
import { runCli } from "./run-cli.ts";

async function errorOf(args: readonly string[], env: Record<string, string>): Promise<string> {
  const lines: string[] = [];
  await runCli(args, { out: () => {}, err: (text) => lines.push(text), env });
  return lines[0] as string;
}

it("names where a bad address came from", async () => {
  expect(await errorOf(["doctor"], { REDIS_URL: "localhost:6379" })).toMatch(/^REDIS_URL must begin with redis:\/\//);
  expect(await errorOf(["doctor", "--url", ""], { REDIS_URL: "redis://127.0.0.1:1" })).toMatch(/^--url must begin/);
});

it("takes an empty REDIS_URL for one that is not set", async () => {
  expect(await errorOf(["inspect"], { REDIS_URL: "" })).toBe("inspect needs a key.");
});
