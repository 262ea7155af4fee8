import { createServer, type Server, type Socket } from "node:net";
import { freePort } from "./free-port.ts";
import { type CommandFate, ProxiedConnection, type ProxyMode } from "./proxied-connection.ts";

/** Where a proxy leads to. */
export interface FaultProxyOptions {
  readonly targetPort: number;
  /** The loopback address by default. */
  readonly targetHost?: string;
}

/**
 * A proxy in this process between clients and one Redis that breaks on demand. It reads RESP, so that faults happen
 * between commands and never inside one. Clients that subscribe or monitor, and TLS, are beyond it.
 */
export interface FaultProxy extends AsyncDisposable {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** How many commands of each upper-case name have been forwarded. May be cleared. */
  readonly commands: Map<string, number>;
  /** How many clients are connected now. */
  readonly connections: number;
  /** By how much each direction is late from now on, in milliseconds; 0 ends it. */
  delay(ms: number): void;
  /** Both directions fall silent; connections stay open, new ones are accepted, and nothing is lost. */
  stall(): void;
  /** Commands are executed, their replies are lost. */
  swallowReplies(): void;
  /** Connections are accepted and stay open, commands are lost. */
  halfOpen(): void;
  /** Connections that are open now fall silent for good, as when the way to their other end was forgotten; new ones work. */
  strand(): void;
  /** Ends stalling, swallowing and half-openness. A connection on which something was lost is closed. */
  resume(): void;
  /** Closes every connection and refuses new ones until {@link mend}. */
  cut(): Promise<void>;
  /** Accepts connections again, on the same port. */
  mend(): Promise<void>;
  /** Closes the connection in place of forwarding the n-th command from now, of this name if one is given. */
  cutBeforeExecution(n: number, command?: string): void;
  /** Forwards the n-th command from now, of this name if one is given, and closes the connection in place of answering. */
  cutAfterExecution(n: number, command?: string): void;
  /** Closes everything for good. Idempotent. */
  stop(): Promise<void>;
}

const HOST = "127.0.0.1";
const ATTEMPTS = 20;

/** Starts a proxy on a free loopback port. It does not keep the process alive. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const core = new ProxyCore({ host: options.targetHost ?? HOST, port: options.targetPort });
  const port = await core.listenOnFreePort();
  const stop = (): Promise<void> => core.close();
  return {
    host: HOST,
    port,
    url: `redis://${HOST}:${port}`,
    commands: core.commands,
    get connections() {
      return core.connections.size;
    },
    delay: (ms) => core.setDelay(ms),
    stall: () => core.setMode("stall"),
    swallowReplies: () => core.setMode("swallow-replies"),
    halfOpen: () => core.setMode("half-open"),
    strand: () => core.strand(),
    resume: () => core.setMode("pass"),
    cut: () => core.close(),
    mend: () => core.listen(port),
    cutBeforeExecution: (n, command) => core.arm("cut-before", n, command),
    cutAfterExecution: (n, command) => core.arm("cut-after", n, command),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Trap {
  readonly fate: CommandFate;
  readonly command: string | undefined;
  remaining: number;
}

class ProxyCore {
  readonly commands = new Map<string, number>();
  readonly connections = new Set<ProxiedConnection>();
  readonly #target: { readonly host: string; readonly port: number };
  #server: Server | undefined;
  #mode: ProxyMode = "pass";
  #delayMs = 0;
  #traps: Trap[] = [];

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  async listenOnFreePort(): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      try {
        await this.listen(port);
        return port;
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async listen(port: number): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((client) => this.#accept(client));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, host: HOST, exclusive: true }, resolve);
    });
    server.unref();
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const connection of this.connections) connection.cut();
    if (server === undefined) return;
    server.ref();
    await new Promise((resolve) => server.close(resolve));
  }

  setMode(mode: ProxyMode): void {
    this.#mode = mode;
    for (const connection of this.connections) {
      if (mode === "pass") connection.cutIfTainted();
      if (mode === "stall") connection.hold();
      else connection.release();
    }
  }

  strand(): void {
    for (const connection of this.connections) connection.strand();
  }

  setDelay(ms: number): void {
    if (!(ms >= 0 && Number.isFinite(ms))) throw new RangeError(`A delay must be 0 or more milliseconds, got ${ms}.`);
    this.#delayMs = ms;
  }

  arm(fate: CommandFate, n: number, command: string | undefined): void {
    if (!(Number.isInteger(n) && n >= 1)) throw new RangeError(`Commands are counted from 1, got ${n}.`);
    this.#traps.push({ fate, command: command?.toUpperCase(), remaining: n });
  }

  #accept(client: Socket): void {
    const connection = new ProxiedConnection(client, this.#target, {
      mode: () => this.#mode,
      delayMs: () => this.#delayMs,
      fateOf: (name) => this.#fateOf(name),
    });
    this.connections.add(connection);
    connection.onClose(() => this.connections.delete(connection));
  }

  #fateOf(name: string): CommandFate {
    let fate: CommandFate = "forward";
    for (const trap of this.#traps) {
      if (trap.command !== undefined && trap.command !== name) continue;
      trap.remaining--;
      if (trap.remaining === 0) fate = trap.fate;
    }
    this.#traps = this.#traps.filter(({ remaining }) => remaining > 0);
    if (fate !== "cut-before") this.commands.set(name, (this.commands.get(name) ?? 0) + 1);
    return fate;
  }
}
