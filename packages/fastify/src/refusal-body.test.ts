import type { FastifyRequest } from "fastify";
import type { RefusedDecision } from "spillway";
import { describe, expect, it } from "vitest";
import { refusalBody } from "./refusal-body.ts";

describe("the JSON body of refusals", () => {
  it("tells each caller its own reason and wait, whatever the one before was told", () => {
    const { build } = refusalBody(undefined, false);
    const told = (reason: RefusedDecision["reason"], retryAfterMs: number): unknown =>
      JSON.parse(build({} as FastifyRequest, { reason, retryAfterMs } as RefusedDecision) as string);
    for (const waitMs of [1, 2, 2]) {
      expect(told("limited", waitMs)).toMatchObject({ code: "SPILLWAY_LIMITED", retryAfterMs: waitMs });
      expect(told("blocked", waitMs)).toMatchObject({ code: "SPILLWAY_BLOCKED", retryAfterMs: waitMs });
    }
    expect(told("limited", 2.5)).toMatchObject({ retryAfterMs: 3 });
    expect(told("limited", 0)).toMatchObject({ code: "SPILLWAY_LIMITED", retryAfterMs: 0 });
    expect(told("never", Number.POSITIVE_INFINITY)).not.toHaveProperty("retryAfterMs");
    expect(told("limited", 3)).toMatchObject({ retryAfterMs: 3 });
  });
});
