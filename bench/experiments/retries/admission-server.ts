import { createAdmission, readDeadlineMs, shedReplies } from "@spillway/admission";
import type { Clock } from "spillway";
import { seededRandom } from "../../simulator/random.ts";
import type { VirtualLoop } from "../../simulator/virtual-loop.ts";
import type { HerdServer } from "./model-server.ts";

/** A service behind our own admission control, with the line and the refusals that it has by default. */
export class AdmissionServer implements HerdServer {
  readonly arrivalsMs: number[] = [];
  readonly #loop: VirtualLoop;
  readonly #serviceMs: number;
  readonly #admission: ReturnType<typeof createAdmission>;
  readonly #replyTo = shedReplies(false);

  constructor(loop: VirtualLoop, clock: Clock, slots: number, serviceMs: number) {
    this.#loop = loop;
    this.#serviceMs = serviceMs;
    this.#admission = createAdmission({ slots, clock, random: seededRandom(1), guessMs: serviceMs });
  }

  async handle(headers: Headers): Promise<Response> {
    this.arrivalsMs.push(this.#loop.nowMs);
    const deadlineMs = readDeadlineMs(Object.fromEntries(headers));
    const permit = await this.#admission.acquire(deadlineMs === undefined ? {} : { deadlineMs });
    if (!permit.admitted) {
      const { headers: fields, body } = this.#replyTo(permit);
      return new Response(body, { status: 503, headers: fields as Record<string, string> });
    }
    await new Promise<void>((resolve) => void this.#loop.after(this.#serviceMs, resolve));
    permit.release();
    return new Response(null, { status: 200 });
  }
}
