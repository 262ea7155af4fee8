import type { Reporter, TestModule } from "vitest/node";
import type { FleetRow } from "./fleet-row.ts";
import { fleetTable } from "./fleet-table.ts";

/** Prints the rows of all fleet runs as one table. */
export default class FleetTableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()));
    const rows = tests.flatMap((test) => (test.meta() as { fleet?: FleetRow }).fleet ?? []);
    if (rows.length > 0) process.stdout.write(`\n${fleetTable(rows)}\n`);
  }
}
