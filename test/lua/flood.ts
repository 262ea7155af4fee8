import { once } from "node:events";
import { connect } from "node:net";

/** Commands in flight: enough that the server never waits for this process. */
const IN_FLIGHT = 4000;
const PER_WRITE = 200;

export interface FloodOptions {
  readonly port: number;
  /** The command that is sent over and over. */
  readonly command: readonly string[];
  /** Integers in each reply, which must be a flat array. */
  readonly slots: number;
  readonly durationMs: number;
}

/**
 * Sends one command as fast as a server takes it, over one connection, and returns every reply in order. A Redis client of
 * this language could not keep the server busy: replies are kept as bytes and read once the flood is over.
 */
export async function flood({ port, command, slots, durationMs }: FloodOptions): Promise<number[][]> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const one = `*${command.length}\r\n${command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`;
  const batch = Buffer.from(one.repeat(PER_WRITE));
  const chunks: Buffer[] = [];
  let sent = 0;
  let lines = 0;
  const linesPerReply = slots + 1;
  const until = performance.now() + durationMs;

  await new Promise<void>((resolve, reject) => {
    const top = (): void => {
      while (performance.now() < until && sent - lines / linesPerReply < IN_FLIGHT) {
        socket.write(batch);
        sent += PER_WRITE;
      }
      if (performance.now() >= until && lines >= sent * linesPerReply) resolve();
    };
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++;
      top();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("The server closed the connection.")));
    top();
  }).finally(() => socket.destroy());
  return repliesOf(Buffer.concat(chunks).toString("latin1"), slots);
}

function repliesOf(text: string, slots: number): number[][] {
  const lines = text.split("\r\n");
  const replies: number[][] = [];
  for (let at = 0; at + slots < lines.length; at += slots + 1) {
    if (lines[at] !== `*${slots}`) throw new Error(`An unexpected reply: ${lines.slice(at, at + slots + 1).join(" ")}`);
    replies.push(lines.slice(at + 1, at + 1 + slots).map(integer));
  }
  return replies;
}

function integer(line: string): number {
  if (!/^:-?\d+$/.test(line)) throw new Error(`No integer: ${line}`);
  return Number(line.slice(1));
}
