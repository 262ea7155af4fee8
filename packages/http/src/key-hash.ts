import { createHmac } from "node:crypto";
import { invalidKey, invalidOption, show } from "./argument-error.ts";

/** How identifiers are turned into keys that tell nothing. */
export interface KeyHashOptions {
  /**
   * At least 16 bytes that only your service knows, the same in all its processes. Without it nobody can find out from a hash
   * which of some known identifiers it stands for. With another one every caller begins anew.
   */
  readonly secret: string | Uint8Array;
  /** How many characters a hash has: 22 (132 bits of it, the default) to 43 (all of it). */
  readonly length?: number;
}

/** Turns an identifier into text of `A-Z`, `a-z`, `0-9`, `-` and `_`. */
export type KeyHash = (identifier: string) => string;

const FEWEST_SECRET_BYTES = 16;
const FEWEST_CHARACTERS = 22;
const ALL_CHARACTERS = 43;
/** Half of a surrogate pair alone, which UTF-8 cannot tell from others. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Makes a function that hashes identifiers (API keys, addresses, e-mail addresses) with HMAC-SHA-256, so that what is kept in
 * Redis, and shown in its logs and dumps, neither is a secret nor names a person. The hash is the start of base64url of the
 * MAC over the UTF-8 bytes. Two identifiers of, say, 10^10 have the same hash with a chance below 10^-19.
 * @throws TypeError for a secret of fewer than 16 bytes, or a `length` outside 22 to 43. The function throws one for what is
 * no string, or is empty: an absent header must not become a caller.
 */
export function createKeyHash(options: KeyHashOptions): KeyHash {
  const { secret, length = FEWEST_CHARACTERS } = options;
  requireSecret(secret);
  if (!Number.isInteger(length) || length < FEWEST_CHARACTERS || length > ALL_CHARACTERS)
    throw invalidOption("length", `a whole number from ${FEWEST_CHARACTERS} to ${ALL_CHARACTERS}`, length);
  // A copy: nobody can change the secret afterwards.
  const key = Buffer.from(secret as Uint8Array);
  return (identifier) => {
    const given: unknown = identifier;
    if (typeof given !== "string" || given === "")
      throw invalidKey(`An identifier must be a string that is not empty, got ${show(given)}.`);
    const mac = createHmac("sha256", key);
    // The byte 255 is in no UTF-8, so the two ways of writing never meet.
    if (LONE_SURROGATE.test(given)) mac.update("\xff", "latin1").update(given, "utf16le");
    else mac.update(given);
    return mac.digest("base64url").slice(0, length);
  };
}

/** The message never shows the secret. */
function requireSecret(secret: unknown): void {
  const isBytes = secret instanceof Uint8Array;
  const bytes = isBytes ? secret.byteLength : typeof secret === "string" ? Buffer.byteLength(secret) : undefined;
  if (bytes === undefined) throw invalidOption("secret", "a string or a Uint8Array", typeof secret);
  if (bytes < FEWEST_SECRET_BYTES)
    throw invalidOption("secret", `at least ${FEWEST_SECRET_BYTES} bytes`, `${bytes} bytes`);
}
