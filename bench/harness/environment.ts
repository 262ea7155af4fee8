import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";

const PACKAGES = [
  "spillway",
  "ioredis",
  "rate-limiter-flexible",
  "rate-limit-redis",
  "express-rate-limit",
  "@fastify/rate-limit",
];

/** What the figures were measured on. */
export function machine(): Record<string, string | number> {
  return {
    processors: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? "unknown",
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: process.platform,
    architecture: process.arch,
  };
}

/** Versions of everything that was measured. */
export function versions(redis: string | undefined): Record<string, string> {
  const packages = Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)]));
  return { node: process.versions.node, ...(redis === undefined ? {} : { redis }), ...packages };
}

/** Read from the file itself: few packages export their manifest. */
function versionOf(name: string): string {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const manifest = folders.map((folder) => join(folder, name, "package.json")).find(existsSync);
  if (manifest === undefined) return "unknown";
  return String((JSON.parse(readFileSync(manifest, "utf8")) as { version?: unknown }).version);
}
