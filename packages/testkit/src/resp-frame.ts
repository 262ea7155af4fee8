const CR_LF = "\r\n";
const LF_AFTER_CR = 2;

/**
 * Where the RESP value (2 or 3) that begins at `start` ends, or -1 while some of it is still missing. A line that is no
 * RESP value, an inline command, ends with its line. Streamed values, which no Redis sends, are not known.
 */
export function endOfValue(bytes: Buffer, start: number): number {
  const lineEnd = bytes.indexOf(CR_LF, start, "latin1");
  if (lineEnd === -1) return -1;
  const afterLine = lineEnd + LF_AFTER_CR;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  if (!"$!=*~>%|".includes(kind)) return afterLine;
  const size = Number(bytes.toString("latin1", start + 1, lineEnd));
  if (!Number.isInteger(size)) throw new Error(`Not RESP: ${bytes.toString("latin1", start, lineEnd)}`);
  if (size < 0) return afterLine;
  if ("$!=".includes(kind)) {
    const end = afterLine + size + LF_AFTER_CR;
    return end <= bytes.length ? end : -1;
  }
  // A map has keys and values; an attribute has them too, and then the value that it describes.
  const parts = kind === "%" ? 2 * size : kind === "|" ? 2 * size + 1 : size;
  let end = afterLine;
  for (let part = 0; part < parts && end !== -1; part++) end = endOfValue(bytes, end);
  return end;
}

/** Cuts a stream of bytes into whole RESP values. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Takes the next bytes and gives the values that are complete now, as they were sent. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    let start = 0;
    while (start < bytes.length) {
      const end = endOfValue(bytes, start);
      if (end === -1) break;
      frames.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return frames;
  }
}

/** The upper-case name of a command: an array of bulk strings, or an inline command. */
export function commandName(frame: Buffer): string {
  const text = frame.toString("latin1", 0, Math.min(frame.length, 256));
  const name = text.startsWith("*") ? /^\*\d+\r\n\$\d+\r\n([^\r]*)/.exec(text)?.[1] : /^\S+/.exec(text)?.[0];
  return (name ?? "").toUpperCase();
}

/** Whether a value answers a command; a RESP3 push does not. */
export function isReply(frame: Buffer): boolean {
  return frame[0] !== ">".charCodeAt(0);
}
