import fc from "fast-check";
import { type BareItem, DisplayString, type Item, parseDictionary, parseList, Token } from "structured-headers";
import { describe, expect, it } from "vitest";
import { type BareValue, type FieldItem, parseItemDictionary, parseItemList } from "./structured-field.ts";

describe("parseItemList", () => {
  it("reads items of every kind with their parameters", () => {
    const items = parseItemList('"a\\"b";q=1;w=-2.5;x;y=?0, tok/en:1;pk=:aGk=:,7 , @1700000000;note=%"gr%c3%bcn"');
    expect(items?.map(({ value, parameters }) => [value, Object.fromEntries(parameters)])).toEqual([
      ['a"b', { q: 1, w: -2.5, x: true, y: false }],
      ["tok/en:1", { pk: { base64: "aGk=" } }],
      [7, {}],
      [null, { note: null }],
    ]);
  });

  it("reads an empty value as no items", () => {
    expect(parseItemList("  ")).toEqual([]);
  });

  it.each(["a,", ",a", "a b", '"a', '"a\\x"', "1.2.3", "1.", "a;", "a;Q=1", "(a b)", "1234567890123456", "é"])(
    "gives nothing for %j",
    (text) => {
      expect(parseItemList(text)).toBeUndefined();
    },
  );

  it("takes what is longer than 16 KiB for malformed", () => {
    expect(parseItemList("a".repeat(16_384))).toHaveLength(1);
    expect(parseItemList("a".repeat(16_385))).toBeUndefined();
  });
});

describe("under an independent parser", () => {
  // Dates are left out: the library refuses those that something follows.
  const signs = fc.constantFrom(...'ab1,;="\\ \t.-:?%*/(c3Z_7', "=1", ";w=", '";r=', ", ", "?1", ":aa==:", '%"%c3%bc"');
  const texts = fc.array(signs, { maxLength: 24 }).map((parts) => parts.join(""));
  const member = fc.stringMatching(
    /^(?:"[a-z "]{0,4}"|[a-z]{1,3}|-?[0-9]{1,4}(?:\.[0-9]{1,3})?|\?[01]|:[a-zA-Z]{4}:)$/,
  );
  const items = fc
    .tuple(member, fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,2}$/), member), { maxLength: 3 }))
    .map(([value, parameters]) => value + parameters.map(([key, one]) => `;${key}=${one}`).join(""));
  const lists = fc.array(items, { maxLength: 4 }).map((all) => all.join(", "));
  const dictionaries = fc
    .array(fc.tuple(fc.stringMatching(/^[a-z]{1,2}$/), items), { maxLength: 4 })
    .map((all) => all.map(([key, item]) => `${key}=${item}`).join(","));

  it("the same lists are read, with the same values", () => {
    fc.assert(
      fc.property(fc.oneof(texts, lists), (text) => {
        expect(parseItemList(text)?.map(plain)).toEqual(theirs(() => parseList(text)));
      }),
      { numRuns: 2000 },
    );
  });

  it("the same dictionaries are read, with the same values", () => {
    fc.assert(
      fc.property(fc.oneof(texts, dictionaries), (text) => {
        const read = parseItemDictionary(text);
        const own = read && [...read].map(([key, item]) => [key, plain(item)]);
        const members = theirs(() => [...parseDictionary(text).values()]);
        const keys = members && [...parseDictionary(text).keys()];
        expect(own).toEqual(members?.map((item, index) => [keys?.[index], item]));
      }),
      { numRuns: 2000 },
    );
  });
});

type Plain = readonly [BareValue, readonly (readonly [string, BareValue])[]];

function plain({ value, parameters }: FieldItem): Plain {
  return [decoded(value), [...parameters].map(([key, one]) => [key, decoded(one)] as const)];
}

/** Base64 in the one form that is written for its bytes. */
function decoded(value: BareValue): BareValue {
  if (typeof value !== "object" || value === null) return value;
  return { base64: Buffer.from(value.base64, "base64").toString("base64") };
}

/** What the library reads, in our form; `undefined` where it throws or finds an Inner List. */
function theirs(parse: () => unknown[]): readonly Plain[] | undefined {
  let members: unknown[];
  try {
    members = parse();
  } catch {
    return undefined;
  }
  if ((members as [unknown, unknown][]).some(([value]) => Array.isArray(value))) return undefined;
  return (members as Item[]).map(([value, parameters]) => [
    bare(value),
    [...parameters].map(([key, one]) => [key, bare(one)] as const),
  ]);
}

function bare(value: BareItem): BareValue {
  if (value instanceof Token) return value.toString();
  if (value instanceof Date || value instanceof DisplayString) return null;
  if (value instanceof ArrayBuffer) return { base64: Buffer.from(value).toString("base64") };
  return typeof value === "number" ? value + 0 : (value as string | boolean);
}
