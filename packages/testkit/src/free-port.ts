import { createServer } from "node:net";

// Below the range that Linux (32768 and up) and macOS (49152 and up) give to outgoing connections, so that a server
// that is stopped for a while finds its port free again; and with room for the cluster bus 10000 above.
const LOWEST = 11_000;
const HIGHEST = 22_000;
const ATTEMPTS = 50;

// The distance from a Redis node's port to its cluster bus port.
const CLUSTER_BUS_OFFSET = 10_000;

/**
 * A loopback port that nothing listens on now, nor on the port 10000 above it. Another process may take it before the
 * caller does, so whoever listens on it must be ready to ask for another one.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if ((await isFree(port)) && (await isFree(port + CLUSTER_BUS_OFFSET))) return port;
  }
  throw new Error(`No free loopback port between ${LOWEST} and ${HIGHEST} in ${ATTEMPTS} attempts.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
