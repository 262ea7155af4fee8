import { describe, expect, it } from "vitest";
import type { LoadPlan } from "./generator-messages.ts";
import { LiveLoad } from "./live-load.ts";

const FLEET = { names: ["a", "b"], urlOf: (mode: string) => `http://127.0.0.1:1/${mode}` };

/** A generator whose loads end when they are told to. */
class Generator {
  readonly plans: LoadPlan[] = [];
  #finish: ((error?: Error) => void) | undefined;

  async run(plan: LoadPlan): Promise<never> {
    this.plans.push(plan);
    await new Promise<void>((resolve, reject) => {
      this.#finish = (error) => (error === undefined ? resolve() : reject(error));
    });
    return undefined as never;
  }

  end(): void {
    this.#finish?.();
  }

  fail(error: Error): void {
    this.#finish?.(error);
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const order = (mode: string, perSecond = 400) => ({ mode, perSecond, seconds: 60 });

describe("LiveLoad", () => {
  it("sends what was ordered to all workers, and says so", async () => {
    const generator = new Generator();
    const load = new LiveLoad(FLEET, generator, () => {});
    expect(load.description).toBe("");
    load.start(order("lease"));
    await turn();
    expect(generator.plans).toEqual([
      expect.objectContaining({ url: "http://127.0.0.1:1/lease", ratePerSecond: 400, seconds: 60, servers: 2 }),
    ]);
    expect(load.description).toBe("Sending 400 requests per second for 60 s to lease; connections: one per request.");
    load.stop();
    await turn();
    expect(load.description).toBe("");
  });

  it("sends one load at a time: the last one ordered", async () => {
    const generator = new Generator();
    const load = new LiveLoad(FLEET, generator, () => {});
    for (const mode of ["exact", "lease", "outage"]) load.start(order(mode));
    await turn();
    expect(generator.plans.map(({ url }) => url)).toEqual(["http://127.0.0.1:1/outage"]);
    load.start(order("exact"));
    await turn();
    expect(generator.plans).toHaveLength(2);
    load.stop();
  });

  it("keeps connections open at high rates", async () => {
    const generator = new Generator();
    const load = new LiveLoad(FLEET, generator, () => {});
    load.start(order("lease", 4000));
    await turn();
    expect(generator.plans[0]?.connections).toBe("kept open, dealt out evenly");
    load.stop();
  });

  it("tells why a load could not be sent, and takes the next one", async () => {
    const generator = new Generator();
    const failures: unknown[] = [];
    const load = new LiveLoad(FLEET, generator, (error) => failures.push(error));
    load.start(order("lease"));
    await turn();
    const error = new Error("no");
    generator.fail(error);
    await turn();
    expect(failures).toEqual([error]);
    expect(load.description).toBe("");
    load.start(order("exact"));
    await turn();
    expect(generator.plans).toHaveLength(2);
    load.stop();
  });
});
