import { expect, it } from "vitest";
import { createRequestCost } from "./request-cost.ts";

it("is left to the limiter unless told, fixed, or that of a function", () => {
  expect(createRequestCost(undefined)({})).toBeUndefined();
  const fixed = createRequestCost({ minute: 2 });
  expect(fixed({})).toEqual({ cost: { minute: 2 } });
  expect(fixed({})).toBe(fixed({}));
  expect(createRequestCost<{ rows: number }>(({ rows }) => rows)({ rows: 7 })).toEqual({ cost: 7 });
});

it("is checked once where it is fixed, and never taken from a promise", () => {
  for (const cost of [-1, 1.5, Number.NaN, "1", null, { minute: -1 }])
    expect(() => createRequestCost(cost as number)).toThrow(/^Option cost(\.minute)? must be a whole number from 0/);
  const late = createRequestCost(() => Promise.resolve(1) as never);
  expect(() => late({})).toThrow("Option cost must return a whole number from 0, or one for each policy, at once");
});
