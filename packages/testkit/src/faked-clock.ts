import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The wall clock of a server, which can be stepped while it runs. */
export interface FakedClock extends Disposable {
  /** Environment variables that the server is to be started with. */
  readonly env: Readonly<Record<string, string>>;
  /** By how much the clock is ahead of this machine's from now on, in milliseconds; negative when it is behind. */
  setAhead(ms: number): void;
}

/** Where packages of libfaketime put it, with one folder for each architecture or without. */
const ROOTS = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
/** The variant for programs with threads, which redis-server is. */
const LIBRARY = "faketime/libfaketimeMT.so.1";

/** libfaketime on this machine, or undefined. */
export function findFakeTime(): string | undefined {
  for (const root of ROOTS) {
    const folders = existsSync(root) ? [".", ...readdirSync(root).filter((name) => name.endsWith("-linux-gnu"))] : [];
    const found = folders.map((folder) => join(root, folder, LIBRARY)).find((path) => existsSync(path));
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A clock for one server. Only the wall clock is faked: what a server times for itself goes on undisturbed.
 *
 * @throws when libfaketime is not installed
 */
export function fakedClock(): FakedClock {
  const library = findFakeTime();
  if (library === undefined)
    throw new Error("libfaketime is not installed (Debian, Ubuntu: apt-get install faketime).");
  const folder = mkdtempSync(join(tmpdir(), "spillway-clock-"));
  const file = join(folder, "ahead");
  const setAhead = (ms: number): void => writeFileSync(file, `${ms < 0 ? "-" : "+"}${Math.abs(ms) / 1000}s\n`);
  setAhead(0);
  return {
    env: {
      // The C library before a server's own allocator, which reads the clock before libfaketime can answer.
      LD_PRELOAD: `${library}:libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    },
    setAhead,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
