import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The full path of a program as the shell would find it, or undefined. */
export function findOnPath(name: string, path: string = process.env.PATH ?? ""): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (folder === "") continue;
    const candidate = join(folder, name);
    if (isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
