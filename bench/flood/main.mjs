// The entry of `npm run flood`; compiled by `tsc -b` as every other workspace.
import { main } from "../dist/flood/main.js";

process.exitCode = await main(process.argv.slice(2));
