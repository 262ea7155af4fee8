import { existsSync } from "node:fs";
import { join } from "node:path";
import { filesUnder, ROOT, textOf } from "./source-files.ts";

/** The names that a module offers. */
export interface ExportedNames {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

const LIST = /\bexport\s+(type\s+)?\{([^}]*)\}/g;
const DECLARATION =
  /\bexport\s+(?:declare\s+)?(?:async\s+)?(const|function|class|interface|type)\s+([A-Za-z_$][\w$]*)/g;

/** The names that a TypeScript file exports one by one; throws on `export *`. */
export function exportsOf(file: string): ExportedNames {
  const text = textOf(file).replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, "");
  if (/\bexport\s*\*/.test(text)) throw new Error(`${file} has an "export *": names are listed one by one`);
  const values: string[] = [];
  const types: string[] = [];
  for (const [, allTypes, list = ""] of text.matchAll(LIST)) {
    for (const entry of list.split(",").map((name) => name.trim())) {
      if (entry === "") continue;
      const [, type, name] = /^(type\s+)?(?:[\w$]+\s+as\s+)?([\w$]+)$/.exec(entry) ?? [];
      if (name === undefined) throw new Error(`${file}: what does it export with "${entry}"?`);
      ((allTypes ?? type) ? types : values).push(name);
    }
  }
  for (const [, kind, name = ""] of text.matchAll(DECLARATION))
    (kind === "interface" || kind === "type" ? types : values).push(name);
  if (/\bexport\s+default\b/.test(text)) values.push("default");
  return { values: values.sort(), types: types.sort() };
}

/** The entry points of each package that is published: the name that users import, and its source. */
export function publicEntryPoints(): { readonly name: string; readonly file: string }[] {
  return filesUnder("packages", ["package.json"])
    .map((path) => ({ folder: path.slice(0, -"/package.json".length), manifest: JSON.parse(textOf(path)) }))
    .filter(({ manifest }) => manifest.private !== true)
    .flatMap(({ folder, manifest }) =>
      Object.entries<{ default?: string }>(manifest.exports).flatMap(([entry, { default: target }]) => {
        if (target === undefined) return [];
        const file = target.replace(/^\.\/dist\//, `${folder}/src/`).replace(/\.js$/, ".ts");
        return existsSync(join(ROOT, file)) ? [{ name: join(manifest.name, entry), file }] : [];
      }),
    );
}
