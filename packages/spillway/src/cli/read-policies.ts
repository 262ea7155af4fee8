import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type PoliciesOption, type PolicySet, policyResolver } from "../policy-set.ts";

/** What the limiter is given, and what of it a key lives under. */
export interface GivenPolicies {
  readonly option: PoliciesOption;
  readonly set: PolicySet;
}

/**
 * The policies of a key as a file has them.
 * @throws Error that names the file and what is wrong with it.
 */
export async function readPolicies(file: string | undefined, key: string): Promise<GivenPolicies | undefined> {
  if (file === undefined) return undefined;
  const given = await contentOf(resolve(file)).catch((cause: unknown) => {
    throw new Error(`${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
  });
  if (given === undefined) throw new Error(`${file} has neither a default export nor one named "policies".`);
  const option = given as PoliciesOption;
  try {
    return { option, set: policyResolver(option)(key) };
  } catch (cause) {
    throw new Error(`${file}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

async function contentOf(path: string): Promise<unknown> {
  if (path.endsWith(".json")) return JSON.parse(await readFile(path, "utf8"));
  const exported = (await import(pathToFileURL(path).href)) as { policies?: unknown; default?: unknown };
  return exported.policies ?? exported.default;
}
