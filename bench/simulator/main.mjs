// The entry of `npm run simulate`; compiled by `tsc -b` as every other workspace.
import { main } from "../dist/simulator/main.js";

process.exitCode = await main(process.argv.slice(2));
