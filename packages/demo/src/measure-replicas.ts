import { runCommand } from "./command.ts";
import { describeStore } from "./demo-store.ts";
import { GeneratorProcess } from "./generator-process.ts";
import { RedisCallCounter } from "./redis-calls.ts";
import { ReplicaFleet } from "./replica-fleet.ts";
import type { DemoParts, Opening } from "./run-demo.ts";

/** Runs the demo against replicas that others started: those of `docker-compose.yml`. `--workers` says how many there are. */
async function openReplicas({ options, progress, signal, onClose, onLost }: Opening): Promise<DemoParts> {
  const redisUrl = addressIn("SPILLWAY_REDIS_URL");
  const addresses = { balancer: new URL(addressIn("BALANCER_URL")), replicas: new URL(addressIn("REPLICAS_URL")) };
  progress.say(`looking for ${options.workers} replicas`);
  const fleet = await ReplicaFleet.find(addresses, options.workers, options.modes[0]!, signal);
  const store = await describeStore(redisUrl, "SPILLWAY_REDIS_URL");
  const counter = await RedisCallCounter.connect(redisUrl, onLost);
  onClose(async () => counter.close());
  const generator = new GeneratorProcess(signal, onLost);
  onClose(() => generator.stop());
  return { fleet, generator, counter, store, routes: new Map() };
}

function addressIn(variable: string): string {
  const address = process.env[variable];
  if (address === undefined || !URL.canParse(address)) throw new Error(`${variable} must hold an address.`);
  return address;
}

runCommand(process.argv.slice(2), openReplicas);
