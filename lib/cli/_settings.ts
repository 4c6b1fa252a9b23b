/**
 * `deno.json` and `package.json`, to which something is added: what they have stays, with its comments.
 * @module
 */

import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { z } from "zod";
import { readExactly, readJsonc } from "../base/input.ts";
import { isMissing } from "../base/output_file.ts";

const RECORD = z.record(z.string(), z.unknown()).optional();
const LIST = z.array(z.string()).optional();

/** What is read of both; there may be more in them. */
const SETTINGS = z.looseObject({
  imports: RECORD,
  importMap: z.string().optional(),
  links: LIST,
  exclude: LIST,
  nodeModulesDir: z.unknown().optional(),
  tasks: RECORD,
  type: z.string().optional(),
  scripts: RECORD,
  dependencies: RECORD,
  devDependencies: RECORD,
});

/** Returns the text of a file; `undefined` if there is none. */
export function textOf(path: string): string | undefined {
  return isMissing(path) ? undefined : readExactly(path);
}

/** A file of settings, which may not be there yet. */
export class Settings {
  /** What it has, before anything is added. */
  readonly own: Partial<z.infer<typeof SETTINGS>>;
  /** What it will have. */
  text: string;
  /** What was added, in words; `undefined` where there is no such file. */
  readonly added: string[] | undefined;

  /**
   * Reads the file.
   *
   * @throws {InputError} If it is there and cannot be used.
   */
  constructor(folder: string, readonly name: string) {
    const text = textOf(`${folder}/${name}`);
    // Deno takes an empty file for one without settings.
    const isEmpty = text === undefined || text.trim() === "";
    this.added = text === undefined ? undefined : [];
    this.own = isEmpty ? {} : readJsonc(`${folder}/${name}`, SETTINGS);
    this.text = isEmpty ? "{}\n" : text;
  }

  /** Sets a value, indented as the others are; `what` says so. */
  set(path: JSONPath, value: unknown, what?: string): void {
    const [, unit = "  "] = /\n([ \t]+)\S/.exec(this.text) ?? [];
    const formattingOptions = {
      insertSpaces: !unit.startsWith("\t"),
      tabSize: unit.length,
      eol: this.text.includes("\r\n") ? "\r\n" : "\n",
    };
    this.text = applyEdits(this.text, modify(this.text, path, value, { formattingOptions }));
    if (what !== undefined) this.added?.push(what);
  }

  /** Adds to a section what `known` lacks. */
  add(
    section: string,
    known: object,
    entries: readonly (readonly [key: string, value: unknown])[],
  ): void {
    const lacking = entries.filter(([key]) => !Object.hasOwn(known, key));
    for (const [key, value] of lacking) this.set([section, key], value);
    if (lacking.length > 0) {
      this.added?.push(`${section} ${lacking.map(([key]) => key).join(", ")}`);
    }
  }

  /** Adds an item to a list, unless it is there. */
  append(section: "links" | "exclude", item: string): void {
    const list = this.own[section] ?? [];
    if (!list.includes(item)) this.set([section, list.length], item, `${section} ${item}`);
  }
}
