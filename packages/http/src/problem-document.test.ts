import fc from "fast-check";
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

  it("give back each text as it was, once sent as JSON, and hold no alias of the list", () => {
    const texts = fc.oneof(anyText({}), fc.constantFrom('"', "\\", "</script>", "\u2028", "\0", "é"));
    fc.assert(
      fc.property(fc.array(texts), texts, texts, (violatedPolicies, detail, instance) => {
        const given = [...violatedPolicies];
        const body = quotaExceeded({ violatedPolicies: given, detail, instance });
        given.push("later");
        const sent = JSON.parse(JSON.stringify(body));
        expect(sent).toEqual({ ...body, detail, instance, "violated-policies": violatedPolicies });
      }),
    );
  });

  it.each([
    [{ violatedPolicies: "burst" }, 'violatedPolicies must be an array of names, got "burst"'],
    [{}, "violatedPolicies must be an array of names, got undefined"],
    [{ violatedPolicies: ["a", 1] }, "violatedPolicies[1] must be a string, got 1"],
    [{ violatedPolicies: [], detail: 1 }, "detail must be a string, got 1"],
    [{ violatedPolicies: [], instance: null }, "instance must be a string, got null"],
  ])("refuse %j and name what is wrong", (details, message) => {
    expect(() => quotaExceeded(details as never)).toThrow(`Option ${message}.`);
  });
});

/** Any UTF-16 code units, halves of pairs too. */
function anyText(constraints: fc.ArrayConstraints): fc.Arbitrary<string> {
  return fc.array(fc.nat(0xffff), constraints).map((units) => String.fromCharCode(...units));
}
