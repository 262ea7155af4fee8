import Fastify from "fastify";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ShedLog } from "./shed-log.ts";
import { guarded } from "./test-support.ts";

/** A log whose lines the test reads: at what time, and how many refusals they tell of. */
function underTest() {
  const lines: [number, number][] = [];
  const startMs = Date.now();
  const warn = ({ shed }: { shed: number }) => void lines.push([Date.now() - startMs, shed]);
  const log = new ShedLog();
  const shed = () => log.note({ log: { warn } as never }, { reason: "line_full" });
  return { lines, log, shed };
}

describe("the log of refusals", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
  });

  it("writes the first at once, one line a second after it, and the number of all", () => {
    const { lines, shed } = underTest();
    for (let i = 0; i < 14; i++) {
      shed();
      vi.advanceTimersByTime(300);
    }
    vi.advanceTimersByTime(10_000);
    expect(lines).toEqual([
      [0, 1],
      [1000, 3],
      [2000, 3],
      [3000, 3],
      [4000, 4],
    ]);
  });

  it("writes each of a few that are far apart", () => {
    const { lines, shed } = underTest();
    for (let i = 0; i < 3; i++) {
      shed();
      vi.advanceTimersByTime(5000);
    }
    expect(lines).toEqual([0, 5000, 10_000].map((atMs) => [atMs, 1]));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("writes what is left when it is closed, and leaves no timer", () => {
    const { lines, log, shed } = underTest();
    for (let i = 0; i < 5; i++) shed();
    log.close();
    log.close();
    expect([lines, vi.getTimerCount()]).toEqual([
      [
        [0, 1],
        [0, 4],
      ],
      0,
    ]);
  });
});

it("the plugin's log says the last number when the app is closed", async () => {
  const lines: { shed: number; reason: string }[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const app = Fastify({ logger: { level: "warn", stream } });
  await guarded((one) => one.get("/", async () => "in"), { log: true }, {}, app);
  for (let i = 0; i < 5; i++) await app.inject({ url: "/", headers: { "x-request-deadline-ms": "0" } });
  expect(lines).toEqual([expect.objectContaining({ shed: 1, reason: "deadline" })]);
  await app.close();
  expect(lines.slice(1)).toEqual([expect.objectContaining({ shed: 4, reason: "deadline" })]);
});
