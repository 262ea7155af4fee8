import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { findRedisServer } from "@spillway/testkit";
import type { Reporter, TestModule } from "vitest/node";
import type { ChaosRow, SkippedRow } from "./chaos-row.ts";
import { pageTableOf, tableOf } from "./table.ts";

const PAGE = fileURLToPath(new URL("../../docs/guarantees.md", import.meta.url));
const [BEGIN, END] = ["<!-- chaos: table -->", "<!-- chaos: end -->"];

/** Prints the rows of all chaos tests as one table, and writes them into the page of guarantees where that is asked for. */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => Array.from(module.children.allTests()));
    const metas = tests.map((test) => test.meta() as { chaos?: ChaosRow; skipped?: SkippedRow });
    const rows = metas.flatMap(({ chaos }) => chaos ?? []).sort(byName);
    const skipped = metas.flatMap((meta) => meta.skipped ?? []);
    if (rows.length + skipped.length > 0) process.stdout.write(`\n${tableOf(rows, skipped)}\n`);
    const nothingRan = skipped.length === 0 && tests.every((test) => test.result().state === "skipped");
    if (nothingRan && process.env.SPILLWAY_CHAOS_ROWS !== undefined) this.#sayWhatThereIs(modules);
    if (process.env.SPILLWAY_CHAOS_WRITE === "1") write(rows, skipped);
  }

  #sayWhatThereIs(modules: readonly TestModule[]): void {
    const names = modules
      .filter(({ moduleId }) => !moduleId.includes("/reading-"))
      .flatMap((module) => Array.from(module.children.allTests(), ({ name }) => name.replace(/: .*/, "")));
    process.stderr.write(`No fault is called that. There are:\n${names.map((name) => `  ${name}`).join("\n")}\n`);
    process.exitCode = 1;
  }
}

function byName(a: ChaosRow, b: ChaosRow): number {
  return a.fault.localeCompare(b.fault, "en");
}

function write(rows: readonly ChaosRow[], skipped: readonly SkippedRow[]): void {
  if (rows.some(({ shortfalls }) => shortfalls.length > 0)) {
    process.stderr.write("docs/guarantees.md stays as it is, since a fault falls short.\n");
    return;
  }
  const page = readFileSync(PAGE, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/guarantees.md has no place for the table: ${BEGIN} and ${END}`);
  const versions = `Node ${process.versions.node}, redis-server ${findRedisServer()?.version ?? "unknown"}`;
  const table = pageTableOf(rows, skipped);
  const text = `${BEGIN}\n${table}\n\nMeasured on ${availableParallelism()} cores, ${versions}.\n`;
  writeFileSync(PAGE, page.slice(0, begin) + text + page.slice(end));
}
