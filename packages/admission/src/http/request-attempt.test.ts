import { expect, it } from "vitest";
import { createAdmission } from "../index.ts";
import { withAttempt } from "./request-attempt.ts";

it.each<[string | undefined, number | undefined]>([
  ["1", 1],
  ["2", 2],
  ["999999999", 999_999_999],
  [undefined, undefined],
  ["", undefined],
  ["0", undefined],
  ["01", undefined],
  ["-2", undefined],
  ["1.5", undefined],
  ["2, 2", undefined],
  ["1234567890", undefined],
  ["two", undefined],
])("x-request-attempt %j is read as attempt %s, and what else is asked for stays", (value, attempt) => {
  const headers = value === undefined ? {} : { "x-request-attempt": value };
  expect(withAttempt(undefined, headers)).toEqual(attempt === undefined ? undefined : { attempt });
  expect(withAttempt({ cost: 2 }, headers)).toEqual(attempt === undefined ? { cost: 2 } : { cost: 2, attempt });
});

it("is nothing where a request has no headers, or a list", () => {
  expect(withAttempt(undefined, undefined)).toBeUndefined();
  expect(withAttempt(undefined, { "x-request-attempt": ["2"] })).toBeUndefined();
});

it("counts a request once, by whichever way it comes in, and not one that is told to come again", async () => {
  const admission = createAdmission({ slots: 1, lineMs: 1000 });
  const permit = await admission.acquire({ attempt: 2 });
  expect(admission.acquireNow({ attempt: 2 })).toBeUndefined();
  expect(admission.stats().repeated).toBe(1);
  const waits = admission.acquire({ attempt: 2 });
  if (permit.admitted) permit.release();
  const second = await waits;
  if (second.admitted) second.release();
  await admission.run(() => 1, { attempt: 3 });
  await admission.run(() => 1, { attempt: 1 });
  await admission.close();
  expect(admission.acquireNow({ attempt: 2 })).toMatchObject({ reason: "closed" });
  expect(admission.stats()).toMatchObject({ repeated: 4, admitted: 4 });
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2", null])("refuses %s as an attempt", async (attempt) => {
  const admission = createAdmission();
  const fault = { code: "ERR_SPILLWAY_INVALID_OPTION", message: expect.stringContaining("The attempt must be") };
  await expect(admission.acquire({ attempt: attempt as number })).rejects.toMatchObject(fault);
  expect(admission.stats()).toMatchObject({ repeated: 0, active: 0 });
});
