import { CallSampler } from "./call-counter.ts";
import { runCommand } from "./command.ts";
import type { DemoParts, Opening } from "./demo-parts.ts";
import { describeStore } from "./demo-store.ts";
import { GeneratorProcess } from "./generator-process.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import { ReplicaFleet } from "./replica-fleet.ts";
import { runnableModes } from "./runnable-modes.ts";

/** Runs the demo against replicas that others started: those of `docker-compose.yml`. `--workers` says how many there are. */
async function openReplicas({ options, modes, progress, signal, onClose, onLost }: Opening): Promise<DemoParts> {
  if (options.connections !== "one per request")
    throw new Error("The load balancer keeps no connection: offer at most 1000/s, or say --connections per-request.");
  const redisUrl = addressIn("SPILLWAY_REDIS_URL");
  const addresses = { balancer: new URL(addressIn("BALANCER_URL")), replicas: new URL(addressIn("REPLICAS_URL")) };
  progress.say(`looking for ${options.workers} replicas`);
  const fleet = await ReplicaFleet.find(addresses, options.workers, signal);
  const store = await describeStore(redisUrl, "SPILLWAY_REDIS_URL");
  const calls = new CallSampler(await RedisCallCounter.connect(redisUrl, onLost));
  onClose(async () => calls.close());
  const generator = new GeneratorProcess(signal, onLost);
  onClose(() => generator.stop());
  const choice = runnableModes(modes, { kind: "redis", isOwn: false });
  return { fleet, generator, calls, store, routes: new Map(), choice };
}

function addressIn(variable: string): string {
  const address = process.env[variable];
  if (address === undefined || !URL.canParse(address)) throw new Error(`${variable} must hold an address.`);
  return address;
}

runCommand(process.argv.slice(2), { open: openReplicas });
