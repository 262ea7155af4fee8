import { onRejection, thrownText } from "spillway/kit";

type Listener<Event> = (event: Event) => void;

/** A listener whose faults, thrown or of its promise, are warned about once and reach no call. */
export function safeListener<Event>(name: string, listener: Listener<Event> | undefined): Listener<Event> | undefined {
  if (listener === undefined) return undefined;
  let warned = false;
  const warn = (how: string, error: unknown): void => {
    if (!warned) globalThis.process?.emitWarning?.(`${name} ${how}: ${thrownText(error)}`, "SpillwayWarning");
    warned = true;
  };
  return (event) => {
    try {
      onRejection(listener(event), (error) => warn("rejected", error));
    } catch (error) {
      warn("threw", error);
    }
  };
}

/** Numbers from 0 up to 1, whatever `random` gives: a wait that is no number would be none. */
export function safeRandom(random: () => number): () => number {
  return () => {
    const chance = random();
    return chance >= 0 && chance < 1 ? chance : chance >= 1 ? ALMOST_ONE : 0;
  };
}

const ALMOST_ONE = 1 - Number.EPSILON / 2;
