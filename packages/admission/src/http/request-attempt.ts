import type { AcquireOptions } from "../ask.ts";

/** The field in which a client that retries says which attempt a request is, 1 for the first. */
const ATTEMPT_HEADER = "x-request-attempt";

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What is asked for, with the attempt that the request's own field says. One that says nothing that can be read counts as the first. */
export function withAttempt(
  options: AcquireOptions | undefined,
  headers: Headers | undefined,
): AcquireOptions | undefined {
  const given = headers?.[ATTEMPT_HEADER];
  if (typeof given !== "string" || !/^[1-9][0-9]{0,8}$/.test(given)) return options;
  return { ...options, attempt: Number(given) };
}
