// A primary whose workers share one port: each request is decided by the limiter of the worker that gets it. Sends the port
// once all of them listen, and how many requests each has served when asked. Ends when told to, and with whoever started it.
import cluster from "node:cluster";
import { createServer } from "node:http";
import { Redis } from "ioredis";
import { createRateLimiter, redisStore } from "spillway";

const WORKERS = 4;

function lead() {
  const served = new Map();
  let listening = 0;
  cluster.on("message", (worker) => served.set(worker.id, (served.get(worker.id) ?? 0) + 1));
  cluster.on("listening", (_worker, { port }) => {
    if (++listening === WORKERS) process.send({ port });
  });
  for (let i = 0; i < WORKERS; i++) cluster.fork();
  const end = () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill("SIGKILL");
    process.exit();
  };
  process.on("message", ({ ask }) => (ask ? process.send({ served: [...served.values()] }) : end()));
  process.once("disconnect", end);
}

function serve() {
  const client = new Redis({ host: "127.0.0.1", port: Number(process.env.REDIS_PORT), lazyConnect: true });
  const limiter = createRateLimiter({
    store: redisStore(client),
    policies: { name: "minute", limit: 60, period: "1m", algorithm: "fixed-window" },
    deadlineMs: 5000,
  });
  const server = createServer(async (_request, response) => {
    const { allowed } = await limiter.consume("everybody");
    process.send("served");
    response.writeHead(allowed ? 200 : 429, { connection: "close" }).end();
  });
  server.listen(0, "127.0.0.1"); // The same free port for all of them.
}

if (cluster.isPrimary) lead();
else serve();
