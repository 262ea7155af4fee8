import { describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { withDeadline } from "./with-deadline.ts";

describe("eventually", () => {
  it("gives back what the check returned once it passed", async () => {
    let tries = 0;
    const check = (): string | false => (++tries < 3 ? false : "there");
    expect(await eventually(check, { withinMs: 2_000, everyMs: 1 })).toBe("there");
    expect(tries).toBe(3);
  });

  it("takes undefined and 0 for passed: only false and an error are not", async () => {
    expect(await eventually(() => undefined, { withinMs: 0 })).toBeUndefined();
    expect(await eventually(async () => 0, { withinMs: 0 })).toBe(0);
  });

  it("fails with the last error of the check", async () => {
    let tries = 0;
    const check = (): never => {
      throw new Error(`try ${++tries}`);
    };
    await expect(eventually(check, { withinMs: 50, everyMs: 10 })).rejects.toThrow(/^try [2-6]$/);
  });

  it("says so when the check still returned false", async () => {
    await expect(eventually(() => false, { withinMs: 10, everyMs: 1 })).rejects.toThrow("still returned false");
  });

  it("does not wait for a check that never finishes", async () => {
    await expect(eventually(() => new Promise(() => {}), { withinMs: 30 })).rejects.toThrow(
      "did not finish within 30 ms",
    );
  });
});

describe("a deadline", () => {
  it("passes the result on when it comes in time", async () => {
    expect(await withDeadline(Promise.resolve(1), 1_000, "one")).toBe(1);
  });

  it("passes an error on when it comes in time", async () => {
    await expect(withDeadline(Promise.reject(new Error("broken")), 1_000, "one")).rejects.toThrow("broken");
  });

  it("names what did not happen", async () => {
    await expect(withDeadline(new Promise(() => {}), 20, "godot")).rejects.toThrow("Waited 20 ms for godot");
  });
});
