import { say } from "./say.mjs";

/**
 * Makes sure that the program `redis-server` is there, since these commands stop, pause and configure servers of their
 * own. As root on Debian or Ubuntu it is installed, without starting a service. Says what is missing otherwise.
 */
export async function requireRedisServer() {
  // Compiled a moment ago by the build step, hence not imported at the top.
  const { findRedisServer, installRedisServer } = await import("../packages/testkit/dist/index.js");
  if (findRedisServer() !== undefined) return true;
  const outcome = await installRedisServer({ say });
  if (outcome.installed) return true;
  say(`This command starts Redis servers of its own and there is no redis-server on PATH: ${outcome.reason}`);
  say("Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis) and run it again.");
  return false;
}
