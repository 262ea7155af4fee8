import { collectGarbage } from "./collect-garbage.ts";
import { type Contestant, Disqualified, type Heat, type Round, type Sample } from "./question.ts";

/** The warm-up round is this much longer than one that counts: code has to run for a while before it is compiled well. */
const WARM_UP = 4;

/** What became of each contestant, by name. */
export interface HeatResult {
  /** One sample a round, without the warm-up. Round `i` of one stands beside round `i` of all others. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly disqualified: ReadonlyMap<string, string>;
}

export interface HeatOptions {
  readonly rounds: number;
  readonly roundMs: number;
}

/**
 * Checks all contestants and then lets the right ones take turns: one round each, another one first each time. Whatever else
 * the machine does meanwhile meets all of them.
 */
export async function runHeat(heat: Heat, { rounds, roundMs }: HeatOptions): Promise<HeatResult> {
  const disqualified = new Map<string, string>();
  const samples = new Map<string, Sample[]>();
  for (const { name } of heat.contestants) samples.set(name, []);
  const attempt = async (contestant: Contestant, step: () => Promise<string | undefined>): Promise<void> => {
    if (disqualified.has(contestant.name)) return;
    const reason = await step().catch(reasonOf);
    if (reason === undefined) return;
    disqualified.set(contestant.name, reason);
    samples.delete(contestant.name);
  };
  for (const contestant of heat.contestants) await attempt(contestant, () => contestant.check());
  for (let number = 0; number <= rounds; number++) {
    for (const contestant of rotated(heat.contestants, number)) {
      await attempt(contestant, async () => {
        const ms = number === 0 ? WARM_UP * roundMs : roundMs;
        const sample = await measure(heat, contestant, { number, ms });
        if (number > 0) samples.get(contestant.name)?.push(sample);
        return undefined;
      });
    }
  }
  return { samples, disqualified };
}

async function measure(heat: Heat, contestant: Contestant, round: Round): Promise<Sample> {
  await contestant.prepare?.(round);
  collectGarbage();
  const countersBefore = await heat.counters?.();
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  const work = await contestant.run(round);
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const countersAfter = await heat.counters?.();
  return {
    operations: work.operations,
    wallMs: work.wallMs ?? elapsedMs,
    cpuMs: work.cpuMs ?? (user + system) / 1000,
    counted: differences(countersBefore ?? {}, countersAfter ?? {}),
  };
}

function differences(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) {
  return Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]));
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

/** A wrong answer is a result; a fault of one contestant does not keep the others from being measured. */
function reasonOf(error: unknown): string {
  if (error instanceof Disqualified) return error.message;
  return `failed: ${error instanceof Error ? error.message : String(error)}`;
}
