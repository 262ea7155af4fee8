const MOST_BYTES = 16_384;

/**
 * The JSON of an answer, read from a clone, so that the answer's own body stays to be read.
 * @returns `undefined` for what is no JSON, does not parse, or is longer than 16 KiB.
 */
export async function readJsonBody(response: Response): Promise<unknown> {
  if (!/json/i.test(response.headers.get("content-type") ?? "") || !response.body) return undefined;
  if (Number(response.headers.get("content-length") ?? 0) > MOST_BYTES) return undefined;
  try {
    const bytes = await firstBytes(response.clone().body as ReadableStream<Uint8Array>);
    return bytes === undefined ? undefined : JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

async function firstBytes(body: ReadableStream<Uint8Array>): Promise<Uint8Array | undefined> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
    length += value.byteLength;
    if (length > MOST_BYTES) {
      // The other half of the clone goes on; this one wants no more. It settles only when both are given up.
      reader.cancel().catch(() => undefined);
      return undefined;
    }
  }
}
