import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

it("the lab counts what other clients make of a dead service over real sockets", async () => {
  const folder = await mkdtemp(join(tmpdir(), "spillway-lab-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const args = ["bench/experiments/main.mjs", "retries", "--quick", "--json", "--out", folder];
  const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
    execFile(process.execPath, args, { timeout: 110_000 }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    );
  });
  expect(code, err).toBe(0);
  const { tables } = JSON.parse(out.trimEnd().split("\n").at(-1) as string).experiments[0].findings;
  const requests = Object.fromEntries(tables.at(-1).rows.map(([name, count]: [string, number]) => [name, count]));
  // Three tries, four tries; a breaker that opens at the first failure; ours stops asking.
  expect(requests).toMatchObject({ ky: 600, cockatiel: 800 });
  expect(requests.opossum).toBeLessThan(50);
  expect(requests["@spillway/client"]).toBeLessThanOrEqual(200 + 30);
});
