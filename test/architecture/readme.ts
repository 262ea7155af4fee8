import { textOf } from "./source-files.ts";

/** The first JavaScript of the README: the example that a reader copies. */
export function readmeExample(): string {
  const example = /^```(?:js|ts)\n([\s\S]*?)^```$/m.exec(textOf("README.md"))?.[1];
  if (example === undefined) throw new Error("README.md has no js or ts example");
  return example;
}
