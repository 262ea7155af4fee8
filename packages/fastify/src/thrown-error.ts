/** What an option of a user threw, as an error: hooks take what is falsy, `throw undefined` for one, for leave to go on. */
export function thrownError(thrown: unknown): Error {
  if (typeof thrown === "object" && thrown !== null) return thrown as Error;
  const message = `An option of spillwayAdmission threw what is no error: ${String(thrown)}.`;
  return new TypeError(message, { cause: thrown });
}
