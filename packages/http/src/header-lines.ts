/** Header fields as clients have them: `Headers` of fetch, a `Map`, or a record as `node:http` and undici give it. */
export type HeaderFields =
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | readonly string[] | number | undefined>>;

/**
 * Header fields by lower-case name. Several lines of one field become one value, with commas between them, as RFC 9110 allows.
 * What is no text is left out; nothing throws.
 */
export function headerLines(headers: HeaderFields): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  if (typeof headers !== "object" || headers === null) return lines;
  for (const entry of entriesOf(headers)) {
    if (!Array.isArray(entry)) continue;
    const [name, value] = entry as readonly unknown[];
    const texts = [value].flat().filter((text) => typeof text === "string" || typeof text === "number");
    if (typeof name !== "string" || texts.length === 0) continue;
    const key = name.toLowerCase();
    const earlier = lines.get(key);
    const line = withoutOuterSpaces(texts.join(", "));
    lines.set(key, earlier === undefined ? line : `${earlier}, ${line}`);
  }
  return lines;
}

function entriesOf(headers: object): Iterable<unknown> {
  return Symbol.iterator in headers ? (headers as Iterable<unknown>) : Object.entries(headers);
}

/** A field's value without the spaces and tabs around it; no other white space belongs there. Takes linear time. */
export function withoutOuterSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text, start)) start++;
  while (end > start && isSpace(text, end - 1)) end--;
  return text.slice(start, end);
}

function isSpace(text: string, at: number): boolean {
  return text[at] === " " || text[at] === "\t";
}
