import { runCommand } from "./command.ts";
import { openWorkers } from "./primary.ts";

runCommand(process.argv.slice(2), openWorkers);
