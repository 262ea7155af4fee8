import { expect, it, vi } from "vitest";
import { main } from "../../bench/simulator/main.ts";

it("npm run simulate refuses a workload that no run has, in place of an empty table", async () => {
  const told = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  expect(await main(["--workload", "nonsense"])).toBe(2);
  expect(told).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('No run has "nonsense" in its name'));
});
