import { Agent, request as httpRequest } from "node:http";

export interface Capacity {
  readonly perSecond: number;
  readonly finished: number;
}

/**
 * What a service finishes in a second while it is kept busy, each caller asking again as soon as it is answered. The time runs from
 * one answer to another, so that neither the start nor what is under way at the end is counted.
 * @param callers more than the service has slots, fewer than it turns away from.
 * @param slots how many answers may come together.
 */
export async function measureCapacity(url: string, callers: number, slots: number, seconds: number): Promise<Capacity> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const endMs = performance.now() + seconds * 1000;
  const doneMs: number[] = [];
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) if ((await ask(url, agent)) === 200) doneMs.push(performance.now());
  };
  try {
    await Promise.all(Array.from({ length: callers }, caller));
  } finally {
    agent.destroy();
  }
  // The last answers come when callers stop asking, and slots stand idle.
  const times = doneMs.filter((ms) => ms <= endMs);
  const first = times[slots - 1] ?? Number.NaN;
  const last = times.at(-1) ?? Number.NaN;
  return { perSecond: ((times.length - slots) / (last - first)) * 1000, finished: times.length };
}

function ask(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent }, (response) => {
      response.once("end", () => resolve(response.statusCode ?? 0)).resume();
    })
      .once("error", reject)
      .end();
  });
}
