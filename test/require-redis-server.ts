import { findRedisServer } from "@spillway/testkit";

/** Runs once before the tests of a project that starts Redis servers: one clear message instead of many failures. */
export default function requireRedisServer(): void {
  if (findRedisServer() !== undefined) return;
  throw new Error(
    "These tests start Redis servers of their own and there is no redis-server on PATH. " +
      "Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), or run npm test, " +
      "which does so as root on Debian and Ubuntu.",
  );
}
