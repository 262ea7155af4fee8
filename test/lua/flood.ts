import { once } from "node:events";
import { connect } from "node:net";

/** Commands in flight: enough that the server never waits for this process. */
const IN_FLIGHT = 4000;
const PER_WRITE = 200;
/** Sent last of all: once it is answered, everything before it is. */
const PING = "*1\r\n$4\r\nPING\r\n";
const PONG = "+PONG\r\n";
const ARRAY = "*".charCodeAt(0);

export interface FloodOptions {
  readonly port: number;
  /** The command that is sent over and over; its replies must be flat arrays of integers. */
  readonly command: readonly string[];
  readonly durationMs: number;
}

/**
 * Sends one command as fast as a server takes it, over one connection, and returns every reply in order. A Redis client of
 * this language could not keep the server busy: replies are kept as bytes and read once the flood is over.
 */
export async function flood({ port, command, durationMs }: FloodOptions): Promise<number[][]> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  const one = `*${command.length}\r\n${command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`;
  const batch = Buffer.from(one.repeat(PER_WRITE));
  const chunks: Buffer[] = [];
  let sent = 0;
  let replies = 0;
  let tail = "";
  let isOver = false;
  const until = performance.now() + durationMs;

  await new Promise<void>((resolve, reject) => {
    const top = (): void => {
      while (performance.now() < until && sent - replies < IN_FLIGHT) {
        socket.write(batch);
        sent += PER_WRITE;
      }
      if (performance.now() >= until && !isOver) {
        isOver = true;
        socket.write(PING);
      }
      if (tail.endsWith(PONG)) resolve();
    };
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      tail = (tail + chunk.toString("latin1", Math.max(0, chunk.length - PONG.length))).slice(-PONG.length);
      for (let at = chunk.indexOf(ARRAY); at !== -1; at = chunk.indexOf(ARRAY, at + 1)) replies++;
      top();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("The server closed the connection.")));
    top();
  }).finally(() => socket.destroy());
  return repliesOf(Buffer.concat(chunks).toString("latin1").slice(0, -PONG.length));
}

function repliesOf(text: string): number[][] {
  const lines = text.split("\r\n");
  const replies: number[][] = [];
  for (let at = 0; at + 1 < lines.length; ) {
    const slots = /^\*(\d+)$/.exec(lines[at] as string)?.[1];
    if (slots === undefined) throw new Error(`An unexpected reply: ${lines[at]}`);
    replies.push(lines.slice(at + 1, at + 1 + Number(slots)).map(integer));
    at += Number(slots) + 1;
  }
  return replies;
}

function integer(line: string): number {
  if (!/^:-?\d+$/.test(line)) throw new Error(`No integer: ${line}`);
  return Number(line.slice(1));
}
