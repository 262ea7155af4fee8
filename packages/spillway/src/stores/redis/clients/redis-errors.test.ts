import { describe, expect, it } from "vitest";
import { SpillwayError } from "../../../errors.ts";
import { isUnknownScript, redisError } from "./redis-errors.ts";

const IN_SCRIPT = " script: 9282fe9cd1ad17b421df71a1d74837df7d50241a, on @user_script:1.";
const BEFORE_7 =
  "ERR Error running script (call to f_9282fe9cd1ad17b421df71a1d74837df7d50241a): @user_script:12: @user_script: 12: ";
const READONLY = "READONLY You can't write against a read only replica.";
const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const MISCONF =
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may " +
  "modify the data set are disabled, because this instance is configured to report errors during writes if RDB " +
  "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.";

describe("redisError", () => {
  // As Redis 7.0 words them, and where noted as others do.
  it.each([
    [READONLY],
    [READONLY + IN_SCRIPT],
    [`${BEFORE_7}-${READONLY}`],
    [`Error running script (call to f_1): @user_script:3: @user_script: 3: -${READONLY}`],
    ["LOADING Redis is loading the dataset in memory"],
    [OOM],
    [OOM + IN_SCRIPT],
    [`${BEFORE_7}-${OOM}`],
    ["CLUSTERDOWN Hash slot not served"],
    ["CLUSTERDOWN The cluster is down"],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
    [MISCONF],
    [MISCONF + IN_SCRIPT],
    ["NOREPLICAS Not enough good replicas to write."],
    [`NOREPLICAS Not enough good replicas to write.${IN_SCRIPT}`],
    ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."],
    [
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option",
    ],
    ["WRONGPASS invalid username-password pair or user is disabled."],
    ["DENIED Redis is running in protected mode because protected mode is enabled and no password is set"],
  ])("says that nobody can be served after: %s", (message) => {
    const cause = new Error(message);
    expect(redisError(cause)).toMatchObject({
      name: "SpillwayError",
      code: "ERR_SPILLWAY_STORE_UNAVAILABLE",
      message: `Redis cannot serve: ${message}`,
      cause,
    });
  });

  it.each([
    ["NOPERM this user has no permissions to run the 'evalsha' command"],
    ["NOPERM this user has no permissions to access one of the keys used as arguments"],
    ["NOPERM User default has no permissions to run the 'evalsha' command"],
    [`ERR The user executing the script can't run this command or subcommand${IN_SCRIPT}`],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments" +
        IN_SCRIPT,
    ],
    [`${BEFORE_7}The user executing the script can't run this command or subcommand`],
    [`ERR ACL failure in script: User spillway has no permissions to run the 'time' command${IN_SCRIPT}`],
  ])("says that a permission is missing, and where the list of them is, after: %s", (message) => {
    expect(redisError(new Error(message))).toMatchObject({
      code: "ERR_SPILLWAY_STORE_UNAVAILABLE",
      message: `The Redis user lacks a permission (docs/operations.md lists the ACL that Spillway needs): ${message}`,
    });
  });

  it.each([
    [`WRONGTYPE Operation against a key holding the wrong kind of value${IN_SCRIPT}`],
    ["CROSSSLOT Keys in request don't hash to the same slot"],
    ["TRYAGAIN Multiple keys request during rehashing of slot"],
    [`ERR user_script:1: boom${IN_SCRIPT}`],
    ["ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'"],
    [`ERR Script killed by user with SCRIPT KILL...${IN_SCRIPT}`],
    ["ERR value of OOM is not an integer"],
    ["READONLYISH is no word of Redis"],
    ["Command timed out"],
    [""],
  ])("says no more than that the call failed after: %s", (message) => {
    expect(redisError(new Error(message))).toMatchObject({
      code: "ERR_SPILLWAY_STORE_FAILED",
      message: `Redis failed: ${message}`,
    });
  });

  it.each(["ECONNREFUSED", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "ENOENT", "EAI_AGAIN"])(
    "says that nobody is there after %s",
    (code) => {
      const cause = Object.assign(new Error(`connect ${code} 127.0.0.1:6379`), { code });
      expect(redisError(cause)).toMatchObject({ code: "ERR_SPILLWAY_STORE_UNAVAILABLE", cause });
    },
  );

  it("tells what became of a name with several addresses, whose error says nothing itself", () => {
    const each = ["::1:6379", "127.0.0.1:6379"].map((at) => new Error(`connect ECONNREFUSED ${at}`));
    const cause = Object.assign(new AggregateError(each, ""), { code: "ECONNREFUSED" });
    expect(redisError(cause)).toMatchObject({
      code: "ERR_SPILLWAY_STORE_UNAVAILABLE",
      message: "Redis cannot serve: connect ECONNREFUSED ::1:6379",
    });
  });

  it.each([["ECONNRESET"], ["EPIPE"], ["ETIMEDOUT"]])("takes %s for a lost call, not for an absent server", (code) => {
    const cause = Object.assign(new Error(`read ${code}`), { code });
    expect(redisError(cause).code).toBe("ERR_SPILLWAY_STORE_FAILED");
  });

  it("hands on an error of ours as it is, and copes with what is no error", () => {
    const ours = new SpillwayError("ERR_SPILLWAY_CLOSED", "The store is closed.");
    expect(redisError(ours)).toBe(ours);
    for (const cause of [undefined, null, "text", 5, {}])
      expect(redisError(cause)).toMatchObject({ code: "ERR_SPILLWAY_STORE_FAILED", cause });
  });
});

describe("isUnknownScript", () => {
  it("is true only when the server began its reply with NOSCRIPT, and so ran nothing", () => {
    expect(isUnknownScript(new Error("NOSCRIPT No matching script. Please use EVAL."))).toBe(true);
    for (const message of [
      `${BEFORE_7}-NOSCRIPT No matching script.`,
      "ERR NOSCRIPT",
      READONLY,
      "Connection is closed.",
    ])
      expect(isUnknownScript(new Error(message))).toBe(false);
    expect(isUnknownScript(undefined)).toBe(false);
  });
});
