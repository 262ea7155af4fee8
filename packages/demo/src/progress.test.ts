import { describe, expect, it } from "vitest";
import { ProgressLine } from "./progress.ts";

function line(isTTY: boolean) {
  const written: string[] = [];
  const clock = { nowMs: 0 };
  const output = { isTTY, columns: 12, write: (text: string) => written.push(text) };
  return { written, clock, progress: new ProgressLine(output, () => clock.nowMs) };
}

describe("ProgressLine", () => {
  it("rewrites one line on a terminal, cut to its width, and takes it away in the end", () => {
    const { written, progress } = line(true);
    progress.say("warming up all the workers");
    progress.update("1 of 10");
    progress.clear();
    progress.clear();
    expect(written).toEqual(["\rwarming up \u001b[K", "\r1 of 10\u001b[K", "\r\u001b[K"]);
  });

  it("leaves a note in place and goes on below it", () => {
    const { written, progress } = line(true);
    progress.say("opening");
    progress.note("installing");
    progress.say("starting");
    expect(written).toEqual(["\ropening\u001b[K", "\r\u001b[K", "installing\n", "\rstarting\u001b[K"]);
  });

  it("prints a line now and then elsewhere", () => {
    const { written, clock, progress } = line(false);
    progress.say("starting");
    clock.nowMs = 2400;
    progress.update("2 of 10");
    clock.nowMs = 2600;
    progress.update("3 of 10");
    progress.update("4 of 10");
    progress.clear();
    expect(written).toEqual(["starting\n", "3 of 10\n"]);
  });
});
