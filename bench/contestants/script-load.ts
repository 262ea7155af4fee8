import type { BenchRedis } from "../harness/bench-redis.ts";
import { type Contestant, Disqualified } from "../harness/question.ts";
import { encodeCommand, type RawCommand, RawConnection } from "../harness/raw-connection.ts";
import { minimalGcra } from "./minimal-gcra.ts";

/** Connections, each with `DEPTH` calls in flight. */
export const CONNECTIONS = 4;
const DEPTH = 16;

/** The calls of one contestant. */
export interface ScriptCommands {
  /** For one connection, sent over and over; no two connections share a key. */
  commandsOf(connection: number): readonly RawCommand[];
  /** Tries the script alone. `call` sends one EVALSHA with these parts after its name. */
  check(call: (...parts: string[]) => Promise<unknown>): Promise<string | undefined>;
  /** What was wrong with the replies so far. */
  fault(): string | undefined;
}

/** Calls of one script as fast as the server takes them. Operations are keys: `keysPerCall` a call. */
export function scriptContestant(
  name: string,
  redis: BenchRedis,
  text: string,
  keysPerCall: number,
  commands: ScriptCommands,
): Contestant {
  const connections: RawConnection[] = [];
  const commandsOf = Array.from({ length: CONNECTIONS }, (_, i) => commands.commandsOf(i));
  return {
    name,
    async check() {
      const client = await redis.connect();
      try {
        await client.script("LOAD", text);
        return await commands.check((...parts) => client.call("EVALSHA", ...parts));
      } finally {
        client.disconnect();
      }
    },
    async prepare() {
      while (connections.length < CONNECTIONS) connections.push(await RawConnection.open(redis.port, redis.host));
    },
    async run({ ms }) {
      const untilMs = performance.now() + ms;
      const counts = await Promise.all(
        connections.map((connection, i) => connection.run(commandsOf[i] as readonly RawCommand[], DEPTH, untilMs)),
      );
      const fault = commands.fault();
      if (fault !== undefined) throw new Disqualified(fault);
      return { operations: counts.reduce((sum, count) => sum + count, 0) * keysPerCall };
    },
    async close() {
      for (const connection of connections) connection.close();
    },
  };
}

const KEYS = 64;
const PERIOD_US = 1_000_000;
const LIMIT = 1_000_000;
const CHECKED_LIMIT = 10;

/** The floor: one key, one ask, cost 1. */
export function gcraCommands(): ScriptCommands {
  let refused = 0;
  const read = (reply: readonly number[]): void => {
    if (reply[0] !== 1) refused++;
  };
  const partsOf = (key: string, limit: number): string[] => [
    ...[minimalGcra.sha1, "1", `gcra:v1:{${key}}:bench:token-bucket`],
    ...[String(PERIOD_US / limit), String(PERIOD_US)],
  ];
  return {
    commandsOf: (connection) =>
      Array.from({ length: KEYS }, (_, i) => ({
        bytes: encodeCommand(["EVALSHA", ...partsOf(`customer:${connection}:${i}`, LIMIT)]),
        read,
      })),
    async check(call) {
      const burstUs = String(CHECKED_LIMIT * PERIOD_US);
      let admitted = 0;
      for (let i = 0; i < CHECKED_LIMIT + 5; i++) {
        const [allowed] = (await call(minimalGcra.sha1, "1", "gcra:checked", String(PERIOD_US), burstUs)) as [number];
        if (allowed === 1) admitted++;
      }
      return admitted === CHECKED_LIMIT ? undefined : `it admitted ${admitted}; the limit is ${CHECKED_LIMIT}`;
    },
    fault: () => (refused === 0 ? undefined : `it refused ${refused} requests within the limit`),
  };
}
