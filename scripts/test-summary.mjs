// Ends a run with one plain line, "N passed, N failed, N skipped", from the result that `npm test` left.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run-node.mjs";
import { countTests, TEST_RESULT } from "./test-result.mjs";

function readCounts() {
  try {
    return countTests(JSON.parse(readFileSync(join(ROOT, TEST_RESULT), "utf8")));
  } catch (error) {
    process.stdout.write(`The tests left no result: ${error.message}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

const { passed, failed, skipped } = readCounts();
process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
