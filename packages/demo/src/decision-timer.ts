import type { ConsumeOptions, Decision, RateLimiter } from "spillway";

/** Times the decisions of a limiter, from the call to the decision. */
export class DecisionTimer {
  readonly #durations = new WeakMap<Decision, number>();

  /** The same limiter, timed. */
  wrap(limiter: RateLimiter): RateLimiter {
    const consume = async (key: string, options?: ConsumeOptions): Promise<Decision> => {
      const startMs = performance.now();
      return this.#timed(startMs, await limiter.consume(key, options));
    };
    const consumeNow = (key: string, options?: ConsumeOptions): Decision | undefined => {
      const startMs = performance.now();
      const decision = limiter.consumeNow(key, options);
      return decision === undefined ? undefined : this.#timed(startMs, decision);
    };
    return new Proxy(limiter, {
      get(target, name) {
        if (name === "consume") return consume;
        if (name === "consumeNow") return consumeNow;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  /** How long a decision of a timed limiter took, in ms; 0 for any other. */
  durationMsOf(decision: Decision): number {
    return this.#durations.get(decision) ?? 0;
  }

  #timed(startMs: number, decision: Decision): Decision {
    this.#durations.set(decision, performance.now() - startMs);
    return decision;
  }
}
