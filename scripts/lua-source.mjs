/**
 * Reads the Lua scripts of a folder: expands their includes and parses their header comments. `lua/README.md` describes
 * both forms. Faults are gathered, not thrown, so that one run names all of them.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {{ file: string, line: number, text: string }} SourceLine where a line of the flattened text came from
 * @typedef {{ purpose: string, sections: Record<string, string[]>, arity: Record<string, number | string> }} Header
 * @typedef {{ name: string, file: string, header: Header, lines: SourceLine[] }} Script
 * @typedef {{ scripts: Script[], faults: string[] }} Library
 */

const INCLUDE = /^\s*--\s*@include\b\s*(.*?)\s*$/;
const FRAGMENT_NAME = /^lib\/[a-z0-9-]+$/;
const COMMENT = /^\s*--/;
const SECTION = /^(KEYS|ARGV|Returns|Writes)(?:\[[^\]]*\])?\s*:\s*(.*)$/;
const ARITY = /^@arity\b\s*(.*)$/;
const ARITY_PAIR = /^([a-z][a-zA-Z0-9]*)=(\S+)$/;
const SCRIPT_FILE = /^[a-z][a-z0-9-]*\.lua$/;

/**
 * @param {string} root the folder with `*.lua` and `lib/*.lua`
 * @param {string} [label] what messages call that folder
 * @returns {Library}
 */
export function readLibrary(root, label = "lua") {
  const faults = [];
  const used = new Set();
  const scripts = [];
  for (const fileName of luaFilesOf(root)) {
    const file = `${label}/${fileName}`;
    if (!SCRIPT_FILE.test(fileName)) faults.push(`${file}:1: a script's name is made of a-z, 0-9 and -`);
    const source = readFileSync(join(root, fileName), "utf8").split("\n");
    const { header, length } = parseHeader(source, file, faults);
    const lines = new Flattening(root, label, faults, used).expand(file, source, length);
    requireDescribedInputs(header, lines, file, faults);
    scripts.push({ name: fileName.slice(0, -".lua".length), file, header, lines });
  }
  for (const fileName of luaFilesOf(join(root, "lib"))) {
    const name = `lib/${fileName.slice(0, -".lua".length)}`;
    if (!used.has(name)) faults.push(`${label}/lib/${fileName}:1: no script includes ${name}`);
  }
  return { scripts, faults };
}

/** What Redis gets: one line that names the script, then code without the lines that only comment. */
export function flattenedText(script) {
  return `-- spillway: ${script.name}\n${script.lines.map((line) => line.text).join("\n")}\n`;
}

function luaFilesOf(folder) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(".lua"))
        .sort()
    : [];
}

/** The expansion of one script: each fragment once, where it is first named. */
class Flattening {
  constructor(root, label, faults, used) {
    Object.assign(this, { root, label, faults, used, expanded: new Set(), open: [] });
  }

  /** @returns {SourceLine[]} */
  expand(file, source, from) {
    const lines = [];
    const named = new Set();
    for (let index = from; index < source.length; index++) {
      const text = source[index].trimEnd();
      const at = `${file}:${index + 1}`;
      const include = INCLUDE.exec(text);
      if (include) lines.push(...this.include(include[1], named, at));
      else if (/\[=*\[/.test(text))
        this.faults.push(`${at}: long brackets ([[ ... ]]) are not read here; use -- and quotes`);
      else if (text !== "" && !COMMENT.test(text)) lines.push({ file, line: index + 1, text });
    }
    return lines;
  }

  include(name, named, at) {
    const { root, label, used, expanded, open } = this;
    if (!FRAGMENT_NAME.test(name))
      return this.fault(`${at}: an include has the form "-- @include lib/name", got "${name}"`);
    if (open.includes(name)) return this.fault(`${at}: circular include: ${[...open, name].join(" -> ")}`);
    if (named.has(name)) return this.fault(`${at}: ${name} is included twice in this file`);
    const path = join(root, `${name}.lua`);
    if (!existsSync(path)) return this.fault(`${at}: there is no fragment ${label}/${name}.lua`);
    named.add(name);
    used.add(name);
    if (expanded.has(name)) return [];
    expanded.add(name);
    open.push(name);
    const lines = this.expand(`${label}/${name}.lua`, readFileSync(path, "utf8").split("\n"), 0);
    open.pop();
    return lines;
  }

  fault(message) {
    this.faults.push(message);
    return [];
  }
}

/**
 * Parses the comment block that a script opens with.
 * @returns {{ header: Header, length: number }} and how many lines it has
 */
function parseHeader(source, file, faults) {
  const header = { purpose: "", sections: {}, arity: {} };
  let section;
  let length = 0;
  for (; length < source.length && COMMENT.test(source[length]) && !INCLUDE.test(source[length]); length++) {
    const at = `${file}:${length + 1}`;
    const text = source[length].replace(/^\s*-- ?/, "").trimEnd();
    const arity = ARITY.exec(text.trim());
    const start = SECTION.exec(text);
    if (arity) {
      readArity(arity[1], header.arity, at, faults);
    } else if (start) {
      section = start[1];
      header.sections[section] ??= [];
      if (start[2] !== "") header.sections[section].push(start[2]);
    } else if (section !== undefined) {
      if (text.trim() !== "") header.sections[section].push(text.trim());
    } else {
      header.purpose = `${header.purpose} ${text.trim()}`.trim();
    }
  }
  if (header.purpose === "")
    faults.push(`${file}:1: the header does not open with a sentence that says what the script does`);
  for (const name of ["Returns", "Writes"]) {
    if ((header.sections[name] ?? []).length === 0) faults.push(`${file}:1: the header has no text under "${name}:"`);
  }
  return { header, length };
}

function readArity(text, arity, at, faults) {
  for (const pair of text.split(/\s+/)) {
    const match = ARITY_PAIR.exec(pair);
    if (!match) faults.push(`${at}: @arity takes name=value pairs, got "${pair}"`);
    else if (match[1] in arity) faults.push(`${at}: @arity gives ${match[1]} twice`);
    else arity[match[1]] = /^\d+$/.test(match[2]) ? Number(match[2]) : match[2];
  }
}

/** A script that reads KEYS or ARGV says so in its header. */
function requireDescribedInputs(header, lines, file, faults) {
  for (const name of ["KEYS", "ARGV"]) {
    const use = lines.find((line) => new RegExp(`\\b${name}\\b`).test(line.text));
    if (use && (header.sections[name] ?? []).length === 0)
      faults.push(`${file}:1: the header has no text under "${name}:", which ${use.file}:${use.line} reads`);
  }
}
