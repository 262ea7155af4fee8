import { expect, it, onTestFinished } from "vitest";
import { rateLimitMiddleware } from "./index.ts";
import { KeptResponse, someRequest } from "./test-support.ts";

it("what is thrown without a text, and what a promise rejects with that has none, is warned of by its class", async () => {
  const heard: string[] = [];
  const listen = ({ message }: Error): void => void heard.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const wordless = (): never => {
    throw Object.create(null);
  };
  const refusal = { allowed: false, policies: [], reason: "limited", retryAfterMs: 5 } as const;
  const limiter = { consumeNow: () => refusal, consume: async () => refusal };
  for (const options of [
    { dryRun: true, key: wordless },
    { key: () => "key", onRefused: async () => wordless() },
  ])
    rateLimitMiddleware({ limiter, ...options } as never)(someRequest(), new KeptResponse(), () => {});
  await new Promise(setImmediate);
  expect(heard).toEqual([
    "The rate limit's dry run could not decide: an object of no class",
    "Option onRefused rejected: an object of no class",
  ]);
});
