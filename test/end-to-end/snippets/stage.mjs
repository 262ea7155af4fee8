// What a snippet of a README finds around it: ports and hosts that a test can have.
import net from "node:net";

const { listen } = net.Server.prototype;
/** Port 3000 is whichever is free, and it is printed. */
net.Server.prototype.listen = function listenAnywhere(...given) {
  const isPrinted = given[0] === 3000 || given[0]?.port === 3000;
  if (!isPrinted) return listen.apply(this, given);
  this.once("listening", () => console.log(`http://127.0.0.1:${this.address().port}`));
  const onListening = given.find((one) => typeof one === "function");
  return listen.apply(this, [{ port: 0, host: "127.0.0.1" }, ...(onListening === undefined ? [] : [onListening])]);
};

const { createConnection } = net;
/** Redis is the test's. */
net.createConnection = (options, ...more) =>
  createConnection(options?.port === 6379 ? { ...options, port: Number(process.env.REDIS_PORT) } : options, ...more);

const { fetch } = globalThis;
/** Nobody outside is asked: who would be answers with the headers that it got, and tells of its limits. */
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  if (new URL(request.url).hostname === "127.0.0.1") return await fetch(input, init);
  const headers = { ratelimit: '"burst";r=11;t=1', "ratelimit-policy": '"burst";q=20;w=1', "retry-after": "3" };
  return Response.json(Object.fromEntries(request.headers), { headers });
};
