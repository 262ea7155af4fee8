import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

const SKIPPED = new Set(["node_modules", "dist", "coverage", ".git", ".cache"]);

/** Every file below a folder with one of the endings, as paths from the root with `/`, sorted. */
export function filesUnder(folder: string, endings: readonly string[]): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesUnder(path, endings);
      return endings.some((ending) => entry.name.endsWith(ending)) ? [relative(".", path).replaceAll("\\", "/")] : [];
    })
    .sort();
}

/** The text of a file, named by its path from the root. */
export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** An import or re-export of a module. */
export interface ImportSite {
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
  /** Whether nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

const STATEMENT = /\b(import|export)\s+(type\s+)?(?:[\w$*{}\s,]*?\bfrom\s*)?(["'])([^"']+)\3/g;
const CALL = /\b(?:import|require)\s*\(\s*(["'])([^"']+)\1/g;

/** The imports of a TypeScript file: statements, re-exports and `import()`. */
export function importsOf(file: string): ImportSite[] {
  const text = withoutComments(textOf(file));
  const at = (index: number): number => text.slice(0, index).split("\n").length;
  const statements = [...text.matchAll(STATEMENT)].map((match) => {
    const names = /\{([^}]*)\}/.exec(match[0])?.[1];
    const allTypes = names?.split(",").every((name) => /^\s*(?:type\s.*)?$/.test(name)) === true;
    return {
      file,
      line: at(match.index),
      specifier: match[4] as string,
      typeOnly: match[2] !== undefined || (allTypes && !/\bimport\s+\w/.test(match[0])),
    };
  });
  const calls = [...text.matchAll(CALL)].map((match) => ({
    file,
    line: at(match.index),
    specifier: match[2] as string,
    typeOnly: false,
  }));
  return [...statements, ...calls];
}

/** Comments blanked out, lines kept. Strings are stepped over, so that a `//` in a URL stays. */
function withoutComments(text: string): string {
  return text.replace(
    /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (token) => (token.startsWith("/") || token.startsWith("`") ? token.replace(/[^\n]/g, " ") : token),
  );
}

/** The rows of a Markdown table that follows `<!-- table: name -->`, as cells. */
export function tableIn(path: string, name: string): string[][] {
  const lines = textOf(path).split("\n");
  const start = lines.indexOf(`<!-- table: ${name} -->`);
  if (start === -1) throw new Error(`${path} has no table marked ${name}`);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 3)) {
    if (!line.startsWith("|")) break;
    rows.push(
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
  }
  return rows;
}

/** What a table cell names in backquotes. */
export function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}
