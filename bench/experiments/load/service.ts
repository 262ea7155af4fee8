import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServicePlan, ServiceReply, ServiceRequest, ServiceStats } from "./plan.ts";

const PATIENCE_MS = 20_000;

/** A service in a process of its own. Whoever starts it closes it. */
export class Service {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}/`;
  }

  static async start(plan: ServicePlan): Promise<Service> {
    const path = fileURLToPath(new URL("./service-process.js", import.meta.url));
    // Options of an admission controller may be infinite, which JSON cannot say.
    const child = fork(path, { execArgv: [], serialization: "advanced" });
    try {
      const { port } = await exchange(child, { ask: "listen", plan });
      return new Service(child, port as number);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  /** Runs something beside a service, which is ended whatever comes of it. */
  static async with<T>(plan: ServicePlan, run: (service: Service) => Promise<T>): Promise<T> {
    const service = await Service.start(plan);
    try {
      return await run(service);
    } finally {
      await service.close();
    }
  }

  async stats(): Promise<ServiceStats> {
    const { stats } = await exchange(this.#child, { ask: "stats" });
    return stats as ServiceStats;
  }

  /** Makes work take so many times as long as planned. */
  async slow(factor: number): Promise<void> {
    await exchange(this.#child, { ask: "slow", factor });
  }

  /** Makes it stand still for a while. */
  async stall(ms: number): Promise<void> {
    await exchange(this.#child, { ask: "stall", ms });
  }

  async collectGarbage(): Promise<void> {
    await exchange(this.#child, { ask: "collect" });
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** Requests are answered one after another: who asks waits before asking again. */
function exchange(child: ChildProcess, request: ServiceRequest): Promise<ServiceReply> {
  return new Promise((resolve, reject) => {
    const end = (error: string | undefined, reply: ServiceReply): void => {
      clearTimeout(timer);
      child.off("message", answered).off("exit", gone);
      if (error === undefined) resolve(reply);
      else reject(new Error(error));
    };
    const answered = (reply: ServiceReply): void => end(reply.error, reply);
    const gone = (): void => end("The process of the service ended.", {});
    const timer = setTimeout(() => end("The process of the service does not answer.", {}), PATIENCE_MS);
    child.once("message", answered).once("exit", gone);
    child.send(request);
  });
}
