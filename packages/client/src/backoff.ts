/** How a wait is spread between nothing and its ceiling. */
export type Jitter = "full" | "equal" | "decorrelated" | "none";

export interface BackoffSettings {
  /** Ceiling of the first wait; at least 1. */
  readonly baseMs: number;
  /** Ceiling of every wait; at least `baseMs`. */
  readonly limitMs: number;
  readonly jitter: Jitter;
}

/** The longest that the wait before a retry can be. @param retry 0 for the first. */
export function backoffCeilingMs(settings: BackoffSettings, retry: number): number {
  return Math.min(settings.limitMs, settings.baseMs * 2 ** Math.min(retry, 1000));
}

/**
 * The wait before a retry when nobody has said how long: from 0 (`equal`: half; `decorrelated`: the base) to the ceiling.
 * @param retry 0 for the first.
 * @param previousMs the wait before the last attempt, 0 if there was none; only `decorrelated` looks at it.
 * @param chance from 0 up to 1.
 */
export function backoffMs(settings: BackoffSettings, retry: number, previousMs: number, chance: number): number {
  const ceilingMs = backoffCeilingMs(settings, retry);
  switch (settings.jitter) {
    case "full":
      return chance * ceilingMs;
    case "equal":
      return ceilingMs / 2 + (chance * ceilingMs) / 2;
    case "decorrelated": {
      const { baseMs, limitMs } = settings;
      return Math.min(limitMs, baseMs + chance * Math.max(0, previousMs * 3 - baseMs));
    }
    case "none":
      return ceilingMs;
  }
}
