import { runCommand } from "./command.ts";
import { openWorkers } from "./primary.ts";
import { serveLive } from "./serve.ts";

runCommand(process.argv.slice(2), { open: openWorkers, serve: serveLive });
