import { RollingCounts } from "./rolling-counts.ts";

export interface ThrottleSettings {
  /** Attempts per accepted one that are still sent; above 1. */
  readonly factor: number;
  readonly windowMs: number;
  /** Attempts in the window below which nothing is refused. */
  readonly minimumCalls: number;
  /** The greatest share that is refused; below 1, so that recovery is noticed. */
  readonly mostRefused: number;
}

/** An attempt sent longer ago is slow, which is no sign of overload. */
const FRESH_MS = 1000;

/**
 * Refuses attempts here that the other side would refuse anyway: of `requests` and `accepts` in the window, the share
 * `(requests - factor x accepts) / (requests + 1)`. Attempts that are under way count as requests only while they are fresh,
 * and only once something was refused: calls that are merely slow are no sign of overload.
 */
export class AdaptiveThrottle {
  readonly #settings: ThrottleSettings;
  readonly #sent = new RollingCounts(FRESH_MS);
  /** Attempts whose fate is known, and apart the accepted ones. */
  #known: RollingCounts;
  #underWay = 0;
  /** Attempts accepted in a row. */
  #run = 0;

  constructor(settings: ThrottleSettings) {
    this.#settings = settings;
    this.#known = new RollingCounts(settings.windowMs);
  }

  /** The share of attempts that is refused now, from 0 to `mostRefused`. */
  share(nowMs: number): number {
    const { factor, minimumCalls, mostRefused } = this.#settings;
    const known = this.#known.all(nowMs);
    const accepts = this.#known.apart(nowMs);
    if (known === accepts) return 0;
    const requests = known + Math.min(this.#underWay, this.#sent.all(nowMs));
    if (requests < minimumCalls) return 0;
    return Math.min(mostRefused, Math.max(0, (requests - factor * accepts) / (requests + 1)));
  }

  /** Whether an attempt is refused now, which counts it. @param chance from 0 up to 1. */
  refuses(nowMs: number, chance: number): boolean {
    if (chance >= this.share(nowMs)) return false;
    this.#known.add(nowMs, false);
    return true;
  }

  /** An attempt is sent. It must be settled once. */
  start(nowMs: number): void {
    this.#underWay++;
    this.#sent.add(nowMs, false);
  }

  /**
   * The fate of an attempt that was sent; `undefined` when nobody knows. While attempts are refused here, at most one in
   * `factor` of those that are sent is accepted; a long run of accepted ones means that the overload is over, and the window
   * is not waited for.
   */
  settle(nowMs: number, accepted: boolean | undefined): void {
    this.#underWay--;
    if (accepted === undefined) return;
    this.#run = accepted ? this.#run + 1 : 0;
    if (this.#run >= this.#settings.minimumCalls && this.share(nowMs) > 0)
      this.#known = new RollingCounts(this.#settings.windowMs);
    this.#known.add(nowMs, accepted);
  }
}
