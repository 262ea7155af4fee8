import { execFileSync } from "node:child_process";
import { findOnPath } from "./find-on-path.ts";

/** A server program on this machine. */
export interface RedisBinary {
  readonly path: string;
  /** As the program says it itself, such as `7.0.15`. */
  readonly version: string;
}

const ANSWER_WITHIN_MS = 10_000;

/** The `redis-server` on PATH, or undefined when there is none that runs. */
export function findRedisServer(): RedisBinary | undefined {
  const path = findOnPath("redis-server");
  if (path === undefined) return undefined;
  try {
    const text = execFileSync(path, ["--version"], { encoding: "utf8", timeout: ANSWER_WITHIN_MS });
    return { path, version: /\bv=(\S+)/.exec(text)?.[1] ?? "unknown" };
  } catch {
    return undefined;
  }
}
