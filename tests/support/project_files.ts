/** Files of a folder that a test makes into a project. */

import { parse as parseJsonc } from "@std/jsonc";
import type { Folder } from "./child.ts";

/** The texts of all files below a folder, by path; links are named only. */
export function contents(path: string, prefix = ""): Record<string, string> {
  return Object.fromEntries(
    [...Deno.readDirSync(path)].flatMap(({ name, isDirectory, isSymlink }) =>
      isDirectory
        ? Object.entries(contents(`${path}/${name}`, `${prefix}${name}/`))
        : [[prefix + name, isSymlink ? "link" : Deno.readTextFileSync(`${path}/${name}`)]]
    ).sort(),
  );
}

/** Writes files, with their folders. */
export function write(place: Folder, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    Deno.mkdirSync(place.file(path).replace(/\/[^/]*$/, ""), { recursive: true });
    place.write(path, text);
  }
}

/** The settings in a file of Deno. */
// deno-lint-ignore no-explicit-any
export function configOf(path: string): any {
  return parseJsonc(Deno.readTextFileSync(path));
}
