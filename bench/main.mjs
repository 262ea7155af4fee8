// The entry of `npm run bench`; compiled by `tsc -b` as every other workspace.
import { main } from "./dist/harness/main.js";

process.exitCode = await main(process.argv.slice(2));
