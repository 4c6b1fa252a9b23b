/**
 * Sources: the user's files that a test stands in, and what they import, so that a run is not continued with
 * other code than it began with.
 * @module
 */

import * as fs from "node:fs";
import * as urls from "node:url";
import * as paths from "node:path";
import { isGranted } from "#runtime";
import { perFile, runner } from "./_runners.ts";
import { errorCode } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { type CodePlace, isForeign, shownFile } from "../base/user_code.ts";

/** The path of a file or folder beside the test file. */
export function besideTestFile(name: string): string {
  return shownFile(new URL(name, runner().file().url).href);
}

/** The path of the test file from the working directory; `undefined` if it is not in there. */
export function testFile(): string | undefined {
  const path = shownFile(runner().file().url);
  return paths.isAbsolute(path) || path.includes(":") ? undefined : path;
}

/** At most this many files of a test are compared. */
const MAX_FILES = 500;

/** The specifiers of static imports, of exports from modules, and of imports of a literal. */
const IMPORTS = /\b(?:from|import)\s*\(?\s*(["'])([^"'\n]+)\1/g;

/**
 * Returns a hash of each of the user's files that a test is registered from and, as far as they are files
 * too, of what these import, by their paths from the test file; `undefined` if one of them may not be read.
 * Packages, and files that are read and not imported, are not among them.
 */
export function sourcesOfCallers(
  callers: readonly CodePlace[],
): Readonly<Record<string, string>> | undefined {
  const urls = callers.map(({ url }) => url).filter((url) => !isForeign(url)).reverse();
  // The test file is what all of them come from.
  const roots = [...new Set(urls)].reverse();
  return roots.length === 0
    ? undefined
    : known().getOrInsertComputed(roots.join("\n"), () => sourcesOf(roots));
}

/** A file may have many tests. */
const known = perFile(() => new Map<string, Readonly<Record<string, string>> | undefined>());

/** The hashes of files and of what they import, by their paths from the last of them, the test file. */
function sourcesOf(roots: readonly string[]): Readonly<Record<string, string>> | undefined {
  const found = new Map<string, string>();
  const open = [...roots];
  for (const url of open) {
    const text = found.size < MAX_FILES ? readIfAllowed(url) : undefined;
    if (text === undefined) return undefined;
    // What looks like an import, as in a comment, may lead nowhere.
    if (text === null) continue;
    // A checkout may have line breaks of its own.
    found.set(url, sha256(text.replaceAll("\r\n", "\n")));
    for (const next of importsOf(url, text)) if (!open.includes(next)) open.push(next);
  }
  const folder = paths.dirname(urls.fileURLToPath(roots.at(-1)!));
  return Object.fromEntries(
    [...found].map(([url, hash]) =>
      [paths.relative(folder, urls.fileURLToPath(url)).replaceAll("\\", "/"), hash] as const
    ).sort(([one], [other]) => one < other ? -1 : 1),
  );
}

/** Returns the files that a module imports. */
function importsOf(url: string, text: string): string[] {
  return [...text.matchAll(IMPORTS)].flatMap(([, , specifier]) => {
    try {
      const { href, protocol, host } = new URL(
        /^\.{0,2}\//.test(specifier!) ? new URL(specifier!, url) : import.meta.resolve(specifier!),
      );
      return protocol === "file:" && host === "" && !isForeign(href) ? [href] : [];
    } catch {
      // No import map has it.
      return [];
    }
  });
}

/** Reads a file; `undefined` if it may not be read, and `null` if there is none. */
function readIfAllowed(url: string): string | null | undefined {
  const path = urls.fileURLToPath(url);
  if (!isGranted({ name: "read", path })) return undefined;
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    return errorCode(error) === "ENOENT" ? null : undefined;
  }
}
