/** Where `npm test` leaves its result for programs to read, in the format of vitest's JSON reporter. */
export const TEST_RESULT = "node_modules/.cache/spillway/test-result.json";

/** The counts in a result. A file that failed before its tests ran counts as one failure. */
export function countTests({ testResults }) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of testResults) {
    const statuses = file.assertionResults.map(({ status }) => status);
    for (const status of statuses) counts[status === "passed" || status === "failed" ? status : "skipped"]++;
    if (file.status === "failed" && !statuses.includes("failed")) counts.failed++;
  }
  return counts;
}
