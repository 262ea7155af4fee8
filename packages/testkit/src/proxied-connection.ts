import { connect, type Socket } from "node:net";
import { DelayLane } from "./delay-lane.ts";
import { commandName, FrameReader, isReply } from "./resp-frame.ts";

/** What the proxy does with what passes through it. */
export type ProxyMode = "pass" | "stall" | "swallow-replies" | "half-open";

/** What is to happen to a command that a client has sent. */
export type CommandFate = "forward" | "cut-before" | "cut-after";

/** What a connection asks of the proxy that it belongs to. */
export interface ProxyRules {
  mode(): ProxyMode;
  delayMs(): number;
  /** Decides on the next command and counts it. */
  fateOf(name: string): CommandFate;
}

/** A client's connection and the proxy's own one to the server. */
export class ProxiedConnection {
  readonly #client: Socket;
  readonly #server: Socket | undefined;
  readonly #rules: ProxyRules;
  readonly #toServer: DelayLane;
  readonly #toClient: DelayLane;
  readonly #commands = new FrameReader();
  readonly #replies = new FrameReader();
  /** For each command that the server has yet to answer, whether the connection is to be cut then. */
  readonly #unanswered: boolean[] = [];
  /** Set once a cut is due: nothing more is forwarded, and the last answer owed is the last thing sent. */
  #cutting = false;
  /** Silent until it is closed from either side. */
  #stranded = false;
  /** Something was lost on the way, so that later replies would answer the wrong commands. */
  #tainted = false;

  constructor(client: Socket, target: { readonly host: string; readonly port: number }, rules: ProxyRules) {
    this.#client = client;
    this.#rules = rules;
    const delayMs = (): number => rules.delayMs();
    this.#toServer = new DelayLane((item) => (item.kind === "end" ? this.#end() : this.#receive(item.bytes)), delayMs);
    this.#toClient = new DelayLane((item) => (item.kind === "end" ? this.#end() : this.#answer(item.bytes)), delayMs);
    if (rules.mode() === "stall") this.hold();
    this.#watch(client, this.#toServer);
    if (rules.mode() === "half-open") {
      this.#tainted = true;
      return;
    }
    this.#server = connect({ ...target, noDelay: true });
    this.#watch(this.#server, this.#toClient);
  }

  /** Calls back once the client's side is closed. */
  onClose(listener: () => void): void {
    this.#client.once("close", listener);
  }

  /** Keeps both directions silent. */
  hold(): void {
    this.#toServer.hold();
    this.#toClient.hold();
  }

  /** Keeps both directions silent for good. */
  strand(): void {
    this.#stranded = true;
    this.hold();
  }

  /** Lets both directions go on, unless they are stranded. */
  release(): void {
    if (this.#stranded) return;
    this.#toServer.release();
    this.#toClient.release();
  }

  /** Closes the connection if something was lost on it. */
  cutIfTainted(): void {
    if (this.#tainted) this.cut();
  }

  /** Closes both sides at once. */
  cut(): void {
    this.#toServer.clear();
    this.#toClient.clear();
    this.#client.destroy();
    this.#server?.destroy();
  }

  /** Closes both sides once what was written to them has left. */
  #end(): void {
    this.#client.destroySoon();
    this.#server?.destroySoon();
  }

  #watch(socket: Socket, lane: DelayLane): void {
    socket.unref();
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => lane.push({ kind: "bytes", bytes }));
    // The other side learns of an end after all that was sent before it, and not while the lane is held.
    socket.on("close", () => (this.#stranded ? this.cut() : lane.push({ kind: "end" })));
    socket.on("error", () => {}); // A close follows.
  }

  /** Commands come out of the lane towards the server. */
  #receive(bytes: Buffer): void {
    if (this.#rules.mode() === "half-open") {
      this.#tainted = true;
      return;
    }
    for (const frame of this.#framesOf(this.#commands, bytes)) {
      if (this.#cutting) return;
      const fate = this.#rules.fateOf(commandName(frame));
      this.#cutting = fate !== "forward";
      if (fate === "cut-before") {
        // The commands before this one are answered first, so that it is known which one was lost.
        if (this.#unanswered.length === 0) this.cut();
        return;
      }
      this.#unanswered.push(fate === "cut-after");
      this.#server?.write(frame);
    }
  }

  /** Replies come out of the lane towards the client. */
  #answer(bytes: Buffer): void {
    for (const frame of this.#framesOf(this.#replies, bytes)) {
      const cutNow = isReply(frame) && this.#unanswered.shift() === true;
      if (cutNow) {
        this.cut();
        return;
      }
      const mode = this.#rules.mode();
      if (mode === "swallow-replies" || mode === "half-open") this.#tainted = true;
      else this.#client.write(frame);
      if (this.#cutting && this.#unanswered.length === 0) {
        this.#end();
        return;
      }
    }
  }

  /** What is not RESP ends the connection, as a server would end it. */
  #framesOf(reader: FrameReader, bytes: Buffer): Buffer[] {
    try {
      return reader.push(bytes);
    } catch {
      this.cut();
      return [];
    }
  }
}
