/**
 * What an option of a user threw, as an error: hooks take what is falsy, `throw undefined` for one, for leave to go on.
 * @param messageOf of what was thrown, where it is none.
 */
export function thrownError(thrown: unknown, messageOf: (thrown: string) => string): Error {
  if (typeof thrown === "object" && thrown !== null) return thrown as Error;
  return new TypeError(messageOf(String(thrown)), { cause: thrown });
}
