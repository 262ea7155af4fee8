import { describe, expect, it } from "vitest";
import { abnormalUsageDetected, quotaExceeded, temporaryReducedCapacity } from "./problem-document.ts";

describe("problem documents", () => {
  it.each([
    [quotaExceeded, "quota-exceeded", "Quota exceeded", 429],
    [temporaryReducedCapacity, "temporary-reduced-capacity", "Temporary reduced capacity", 503],
    [abnormalUsageDetected, "abnormal-usage-detected", "Abnormal usage detected", 429],
  ] as const)("%o has its registered type, its status and the violated policies", (build, type, title, status) => {
    expect(build({ violatedPolicies: ["burst", "daily"] })).toEqual({
      type: `https://iana.org/assignments/http-problem-types#${type}`,
      title,
      status,
      "violated-policies": ["burst", "daily"],
    });
  });

  it("carry a detail and an instance when given", () => {
    const body = quotaExceeded({ violatedPolicies: ["burst"], detail: "Come back in 4 s.", instance: "/refusals/7" });
    expect(body).toMatchObject({ detail: "Come back in 4 s.", instance: "/refusals/7" });
  });
});
