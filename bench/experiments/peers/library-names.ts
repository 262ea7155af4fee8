// What the lab calls the clients that it compares; the process of the callers alone loads them.
export type LibraryName =
  | "@spillway/client"
  | "undici RetryAgent"
  | "got"
  | "ky"
  | "Anthropic SDK"
  | "OpenAI SDK"
  | "@smithy/util-retry"
  | "cockatiel"
  | "opossum";
export type BreakerName = "@spillway/client" | "no breaker" | "cockatiel" | "opossum";

/** All of them, with what the best settings are; `undefined` where nothing can be set. */
export const LIBRARY_NAMES: Readonly<Record<LibraryName, string | undefined>> = {
  "@spillway/client": "20 retries, 60 s",
  "undici RetryAgent": "50 retries, 0.1 to 1 s",
  got: "50 retries, 1 s at most",
  ky: "50 retries, full jitter to 5 s",
  "Anthropic SDK": "50 retries",
  "OpenAI SDK": "50 retries",
  "@smithy/util-retry": "50 attempts",
  cockatiel: "50 retries, jitter to 5 s",
  opossum: undefined,
};

export const BREAKER_NAMES: readonly BreakerName[] = ["@spillway/client", "no breaker", "cockatiel", "opossum"];
