import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// One project for the tests beside each package's source, and one for each folder under test/. Groups run one after
// another: what measures time or fills the machine does not run beside anything else.
const UNIT = { group: 0, timeoutMs: 10_000 };
const FOLDERS: Readonly<Record<string, { group: number; timeoutMs: number; alone?: boolean; needsRedis?: boolean }>> = {
  architecture: { group: 0, timeoutMs: 30_000 },
  experiments: { group: 0, timeoutMs: 30_000 },
  model: { group: 0, timeoutMs: 60_000, needsRedis: true },
  lua: { group: 0, timeoutMs: 60_000, needsRedis: true },
  contract: { group: 0, timeoutMs: 60_000, needsRedis: true },
  integration: { group: 1, timeoutMs: 60_000, needsRedis: true },
  packaging: { group: 2, timeoutMs: 120_000, alone: true },
  "end-to-end": { group: 3, timeoutMs: 120_000, alone: true, needsRedis: true },
  chaos: { group: 4, timeoutMs: 180_000, alone: true, needsRedis: true },
  fleet: { group: 5, timeoutMs: 180_000, alone: true, needsRedis: true },
};
// `npm run chaos` runs all of both; `npm test` these faults, and how their runs are read.
const CHAOS_WANTED = process.env.SPILLWAY_CHAOS === "1";
const SOME_CHAOS: Readonly<Record<string, readonly string[]>> = {
  chaos: ["redis-stopped", "process-killed", "reading-*"],
  fleet: [],
};

const packages = readdirSync("packages").filter((name) => existsSync(`packages/${name}/package.json`));
const unitProjects = packages.map((name) => ({
  test: {
    name: `unit ${name}`,
    include: [`packages/${name}/src/**/*.test.ts`],
    testTimeout: name === "testkit" ? 30_000 : UNIT.timeoutMs,
    hookTimeout: 30_000,
    sequence: { groupOrder: UNIT.group },
    ...(name === "testkit" ? { globalSetup: ["test/require-redis-server.ts"] } : {}),
  },
}));
/** The Fastify plugins' own tests once more, on the oldest Fastify that they promise to work with. */
const lowestFastify = {
  resolve: { alias: [{ find: /^fastify$/, replacement: fileURLToPath(import.meta.resolve("fastify-lowest")) }] },
  test: {
    name: "lowest fastify",
    include: [
      "packages/fastify/src/**/*.test.ts",
      "test/integration/fastify-{answers,peer-faults,shed,told-waits}.test.ts",
    ],
    testTimeout: UNIT.timeoutMs,
    hookTimeout: 30_000,
    sequence: { groupOrder: UNIT.group },
    globalSetup: ["test/require-redis-server.ts"],
  },
};
const folderProjects = Object.entries(FOLDERS)
  .map(([name, settings]) => ({ name, ...settings, files: (!CHAOS_WANTED && SOME_CHAOS[name]) || ["**/*"] }))
  .filter(({ files }) => files.length > 0)
  .map(({ name, group, timeoutMs, alone = false, needsRedis = false, files }) => ({
    test: {
      name,
      include: files.map((file) => `test/${name}/${file}.test.ts`),
      testTimeout: timeoutMs,
      hookTimeout: timeoutMs,
      fileParallelism: !alone,
      sequence: { groupOrder: group },
      ...(needsRedis ? { globalSetup: ["test/require-redis-server.ts"] } : {}),
    },
  }));

export default defineConfig({
  test: {
    projects: [...unitProjects, lowestFastify, ...folderProjects],
    // Two files at a time also where there are more cores: most of them start servers and worker processes of their own.
    maxWorkers: 2,
    clearMocks: true,
    restoreMocks: true,
    coverage: { include: ["packages/*/src/**/*.ts"], exclude: ["**/*.test.ts"] },
  },
});
