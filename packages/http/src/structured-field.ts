/** A bare value; tokens and strings are both text. `null` is a kind that no limit uses: bytes aside, a date or a display string. */
export type BareValue = number | string | boolean | ByteSequence | null;

/** A Byte Sequence as it stands between its colons: base64, with or without padding. */
export interface ByteSequence {
  readonly base64: string;
}

/** A value with its parameters. */
export interface FieldItem {
  readonly value: BareValue;
  readonly parameters: ReadonlyMap<string, BareValue>;
}

/** Longer values are taken for malformed: no server needs as much for its quotas. */
const MOST_CHARACTERS = 16_384;

/**
 * Reads a List of RFC 9651 whose members are all Items.
 * @returns `undefined` for anything else, a list with an Inner List too.
 */
export function parseItemList(text: string): readonly FieldItem[] | undefined {
  const items: FieldItem[] = [];
  const read = readMembers(text, (cursor) => {
    const item = readItem(cursor);
    if (item !== undefined) items.push(item);
    return item !== undefined;
  });
  return read ? items : undefined;
}

/**
 * Reads a Dictionary of RFC 9651 whose values are all Items; of a key that is there twice, the last one counts.
 * @returns `undefined` for anything else.
 */
export function parseItemDictionary(text: string): ReadonlyMap<string, FieldItem> | undefined {
  const members = new Map<string, FieldItem>();
  const read = readMembers(text, (cursor) => {
    const key = cursor.take(KEY);
    if (key === undefined) return false;
    const item = cursor.skip("=") ? readItem(cursor) : readParameters(cursor, true);
    if (item !== undefined) members.set(key, item);
    return item !== undefined;
  });
  return read ? members : undefined;
}

const OPTIONAL_WHITESPACE = /[ \t]*/y;
const SPACES = / */y;
const KEY = /[a-z*][a-z0-9_\-.*]*/y;
const NUMBER = /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y;
const STRING = /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y;
const TOKEN = /[A-Za-z*][\w!#$%&'*+\-.^`|~:/]*/y;
const BYTES = /:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?:/y;
const BOOLEAN = /\?[01]/y;
const DATE = /@-?\d{1,15}(?![\d.])/y;
const DISPLAY_STRING = /%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"/y;

/** A place in a text that only moves forward. */
class Cursor {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  get next(): string | undefined {
    return this.#text[this.#at];
  }

  /** Moves over one sign if it is the next. */
  skip(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  /** Moves over what a sticky expression matches here, and gives it. */
  take(form: RegExp): string | undefined {
    form.lastIndex = this.#at;
    const found = form.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
}

/** Lists and dictionaries alike: members with commas between them, none after the last. */
function readMembers(text: string, readMember: (cursor: Cursor) => boolean): boolean {
  if (text.length > MOST_CHARACTERS) return false;
  const cursor = new Cursor(text);
  cursor.take(SPACES);
  while (!cursor.atEnd) {
    if (!readMember(cursor)) return false;
    cursor.take(OPTIONAL_WHITESPACE);
    if (cursor.atEnd) return true;
    if (!cursor.skip(",")) return false;
    cursor.take(OPTIONAL_WHITESPACE);
    if (cursor.atEnd) return false;
  }
  return true;
}

function readItem(cursor: Cursor): FieldItem | undefined {
  const value = readBare(cursor);
  return value === undefined ? undefined : readParameters(cursor, value);
}

function readParameters(cursor: Cursor, value: BareValue): FieldItem | undefined {
  const parameters = new Map<string, BareValue>();
  while (cursor.skip(";")) {
    cursor.take(SPACES);
    const key = cursor.take(KEY);
    if (key === undefined) return undefined;
    const parameter = cursor.skip("=") ? readBare(cursor) : true;
    if (parameter === undefined) return undefined;
    parameters.set(key, parameter);
  }
  return { value, parameters };
}

function readBare(cursor: Cursor): BareValue | undefined {
  switch (cursor.next) {
    case '"':
      return unquoted(cursor.take(STRING));
    case ":": {
      const bytes = cursor.take(BYTES);
      return bytes === undefined ? undefined : { base64: bytes.slice(1, -1) };
    }
    case "?": {
      const answer = cursor.take(BOOLEAN);
      return answer === undefined ? undefined : answer === "?1";
    }
    case "@":
      return cursor.take(DATE) === undefined ? undefined : null;
    case "%":
      return isUtf8(cursor.take(DISPLAY_STRING)) ? null : undefined;
    default: {
      const number = cursor.take(NUMBER);
      // Adding 0 makes -0 a plain zero.
      return number === undefined ? cursor.take(TOKEN) : Number(number) + 0;
    }
  }
}

function unquoted(quoted: string | undefined): string | undefined {
  return quoted?.slice(1, -1).replace(/\\(["\\])/g, "$1");
}

function isUtf8(display: string | undefined): boolean {
  if (display === undefined) return false;
  try {
    decodeURIComponent(display.slice(2, -1));
    return true;
  } catch {
    return false;
  }
}
