import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { spillway } from "@spillway/fastify";
import Fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { portOf, serve } from "../support/http-exchange.ts";
import { manualLimiter } from "../support/manual-limiter.ts";

/** The part of playwright-core that is used; its own types need those of a browser. */
interface Playwright {
  readonly chromium: {
    launch(options: { executablePath: string; args: readonly string[]; timeout: number }): Promise<{
      newPage(): Promise<{
        goto(url: string): Promise<unknown>;
        evaluate<Argument, Result>(read: (argument: Argument) => Promise<Result>, argument: Argument): Promise<Result>;
      }>;
      close(): Promise<void>;
    }>;
  };
}

const { chromium } = createRequire(import.meta.url)("playwright-core") as Playwright;
const CHROMIUMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const BROWSER = process.env.SPILLWAY_CHROMIUM ?? CHROMIUMS.find((path) => existsSync(path));

/** What a page of another origin can read of two answers: an admission and a refusal. */
async function readByPage(exposes: boolean): Promise<unknown> {
  const { limiter } = manualLimiter({ name: "minute", limit: 1, period: "1m" });
  const app = Fastify();
  app.addHook("onRequest", async (_request, reply) => {
    reply.header("access-control-allow-origin", "*").header("access-control-expose-headers", "X-Total");
  });
  await app.register(spillway, { limiter, exposeHeaders: exposes });
  app.get("/", async (_request, reply) => reply.header("x-total", "7").send("in"));
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  const page = await serve((_request, response) => response.setHeader("content-type", "text/html").end("<p>page</p>"));
  const browser = await chromium.launch({ executablePath: BROWSER as string, args: ["--no-sandbox"], timeout: 60_000 });
  onTestFinished(() => browser.close());
  const tab = await browser.newPage();
  await tab.goto(`http://127.0.0.1:${portOf(page)}/`);
  return await tab.evaluate(
    async (url) => {
      const names = ["ratelimit", "ratelimit-policy", "retry-after", "x-total"];
      const read = async (): Promise<unknown[]> => {
        const { status, headers } = await fetch(url);
        return [status, ...names.map((name) => headers.get(name))];
      };
      return [await read(), await read()];
    },
    `http://127.0.0.1:${portOf(app.server)}/`,
  );
}

it("a browser shows the fields of a 429 to a page of another origin, and the application's own header", async ({
  skip,
}) => {
  skip(BROWSER === undefined, "there is no Chromium on this machine");
  expect(await readByPage(true)).toEqual([
    [200, '"minute";r=0;t=60', '"minute";q=1;w=60', null, "7"],
    [429, '"minute";r=0;t=60', '"minute";q=1;w=60', "60", null],
  ]);
}, 120_000);

it("a browser hides them where nobody exposes them", async ({ skip }) => {
  skip(BROWSER === undefined, "there is no Chromium on this machine");
  expect(await readByPage(false)).toEqual([
    [200, null, null, null, "7"],
    [429, null, null, null, null],
  ]);
}, 120_000);
