import { connect, type Socket } from "node:net";

/** A command as the server reads it, and somebody who looks at its reply, an array of integers. */
export interface RawCommand {
  readonly bytes: Buffer;
  read?(reply: readonly number[]): void;
}

const COLON = 0x3a;
const STAR = 0x2a;
const MINUS = 0x2d;
const CARRIAGE_RETURN = 0x0d;

/** A command in the protocol of Redis. */
export function encodeCommand(parts: readonly string[]): Buffer {
  return Buffer.from(
    `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`,
  );
}

/**
 * A connection with next to no cost of its own, so that the server is what is measured: commands are encoded beforehand, and
 * replies may only be flat arrays of integers.
 */
export class RawConnection {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #onReply: (reply: readonly number[]) => void = () => {};
  #onEnd: (error: Error) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#onEnd(error));
    socket.on("close", () => this.#onEnd(new Error("The server closed the connection.")));
  }

  static open(port: number, host: string): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, host);
      socket.once("error", reject);
      socket.once("connect", () => resolve(new RawConnection(socket)));
    });
  }

  /** Sends the commands over and over, `depth` at a time, until the time is over. Returns how many were answered. */
  run(commands: readonly RawCommand[], depth: number, untilMs: number): Promise<number> {
    return new Promise((resolve, reject) => {
      let sent = 0;
      let answered = 0;
      this.#onEnd = reject;
      const send = (): void => {
        const batch = Array.from({ length: depth }, () => (commands[sent++ % commands.length] as RawCommand).bytes);
        this.#socket.write(Buffer.concat(batch));
      };
      this.#onReply = (reply) => {
        commands[answered++ % commands.length]?.read?.(reply);
        if (answered < sent) return;
        if (performance.now() < untilMs) send();
        else resolve(answered);
      };
      send();
    });
  }

  close(): void {
    this.#onEnd = () => {};
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    for (;;) {
      const end = this.#readReply(bytes, at);
      if (end === undefined) break;
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  /** Where the next reply ends; `undefined` when it has not come whole. */
  #readReply(bytes: Buffer, from: number): number | undefined {
    if (from >= bytes.length) return undefined;
    if (bytes[from] !== STAR) {
      const line = bytes.toString("latin1", from, bytes.indexOf(CARRIAGE_RETURN, from));
      this.#onEnd(new Error(`An array of integers was expected: ${line}`));
      return undefined;
    }
    const head = readInteger(bytes, from + 1);
    if (head === undefined) return undefined;
    const reply: number[] = [];
    let at = head.end;
    for (let i = 0; i < head.value; i++) {
      if (at < bytes.length && bytes[at] !== COLON) this.#onEnd(new Error("An array of integers was expected."));
      const slot = readInteger(bytes, at + 1);
      if (slot === undefined) return undefined;
      reply.push(slot.value);
      at = slot.end;
    }
    this.#onReply(reply);
    return at;
  }
}

function readInteger(bytes: Buffer, from: number): { value: number; end: number } | undefined {
  const isNegative = bytes[from] === MINUS;
  let value = 0;
  for (let at = isNegative ? from + 1 : from; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === CARRIAGE_RETURN)
      return at + 1 < bytes.length ? { value: isNegative ? -value : value, end: at + 2 } : undefined;
    value = value * 10 + (byte - 0x30);
  }
  return undefined;
}
