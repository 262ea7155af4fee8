// The entry of `npm run lab`; compiled by `tsc -b` as every other workspace.
import { main } from "../dist/experiments/main.js";

process.exitCode = await main(process.argv.slice(2));
