import { expect, it } from "vitest";
import { refusalProblem, refusalStatus } from "./refusal-problem.ts";
import { minute, refusal } from "./test-support.ts";

it.each([
  ["limited", "quota-exceeded", "Over the limit, come back later."],
  ["never", "quota-exceeded", "This request costs more than its limit ever allows."],
  ["blocked", "abnormal-usage-detected", "Shut out for now."],
] as const)("a refusal that is %s has the problem type %s", (reason, type, detail) => {
  expect(refusalProblem({ ...refusal, reason })).toMatchObject({
    type: `https://iana.org/assignments/http-problem-types#${type}`,
    status: 429,
    detail,
  });
});

it.each([
  ["limited", 503, "temporary-reduced-capacity"],
  ["never", 429, "quota-exceeded"],
  ["blocked", 429, "abnormal-usage-detected"],
] as const)(
  "while the store is away and nobody is let in, one that is %s is answered with %d",
  (reason, status, type) => {
    const closed = { ...refusal, reason, source: "closed" } as const;
    expect(refusalStatus(closed)).toBe(status);
    expect(refusalProblem(closed)).toMatchObject({
      type: `https://iana.org/assignments/http-problem-types#${type}`,
      status,
      "violated-policies": ["minute"],
    });
  },
);

it("names the policies that refuse, and no others", () => {
  const policies = [
    minute,
    { ...minute, policy: "hour", retryAfterMs: 1 },
    { ...minute, policy: "never", retryAfterMs: 1 / 0 },
  ];
  expect(refusalProblem({ ...refusal, policies })["violated-policies"]).toEqual(["hour", "never"]);
});
