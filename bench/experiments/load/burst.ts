import { Agent, request as httpRequest } from "node:http";

/** What became of requests that were sent at the same moment. */
export interface Burst {
  ok: number;
  refused: number;
  /** Refusals with a `Retry-After` at all, and with one of a second. */
  told: number;
  toldOneSecond: number;
  lineFull: number;
  other: number;
}

/** Sends so many requests at once, each on a connection of its own. */
export async function burstOf(url: string, count: number): Promise<Burst> {
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const burst: Burst = { ok: 0, refused: 0, told: 0, toldOneSecond: 0, lineFull: 0, other: 0 };
  await Promise.all(Array.from({ length: count }, () => askOnce(url, agent, burst)));
  agent.destroy();
  return burst;
}

function askOnce(url: string, agent: Agent, burst: Burst): Promise<void> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.once("end", () => {
        const { statusCode, headers } = response;
        if (statusCode === 200) burst.ok++;
        else if (statusCode === 503) {
          burst.refused++;
          if (headers["retry-after"] !== undefined) burst.told++;
          if (headers["retry-after"] === "1") burst.toldOneSecond++;
          if (body.includes('"line_full"')) burst.lineFull++;
        } else burst.other++;
        resolve();
      });
    })
      .once("error", reject)
      .end();
  });
}
