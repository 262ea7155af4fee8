// Calls URL if there is one, closes nothing, and comes to the end of the file. Prints what became of the call, and how long the process
// lived.
import { createClient } from "@spillway/client";

const client = createClient({ retry: { backoffBase: 300, jitter: "none", limit: 1 } });
if (process.env.URL !== undefined)
  client.request(process.env.URL).then(({ kind, attempts }) => console.log(kind, attempts.length));
process.once("exit", () => console.log(`lived ${Math.round(process.uptime() * 1000)}`));
process.disconnect();
