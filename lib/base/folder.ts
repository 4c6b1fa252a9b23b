/**
 * Folders: the files in them, by name.
 * @module
 */

import defer * as fs from "node:fs";
import { attempt, cannot, orCannot } from "./errors.ts";
import { printable } from "./json.ts";

/** Whether a path is a folder, or a link to one; `false` if that cannot be read: opening it gives the error. */
export function isFolder(path: string): boolean {
  return attempt(() => fs.statSync(path).isDirectory()) ?? false;
}

/**
 * Returns the names of the files in a folder that end in `ending`, in their order; what is hidden or in folders of its
 * own is left out.
 *
 * @param shown The folder as the user named it; default: its path.
 * @throws {InputError} If it cannot be read, or a name is not plain text: nobody has typed it, and it is printed as it is.
 */
export function filesIn(folder: string, ending: string, shown = folder): string[] {
  const entries = orCannot(
    `read the folder ${shown}`,
    () => fs.readdirSync(folder, { withFileTypes: true }),
  );
  const names = entries.filter(({ name }) => name.endsWith(ending) && !name.startsWith("."))
    .filter((entry) =>
      entry.isFile() || entry.isSymbolicLink() && maybeFile(`${folder}/${entry.name}`)
    )
    .map(({ name }) => name).sort();
  const odd = names.find((name) => printable(name, Infinity) !== name);
  if (odd === undefined) return names;
  throw cannot(
    `use the folder ${shown}`,
    "names of files must be plain text",
    `it has ${odd}`,
  );
}

/** Returns the path of a file in a folder. */
export function pathIn(folder: string, name: string): string {
  return `${folder.replace(/[/\\]+$/, "")}/${name}`;
}

/** Whether a link leads to a file, or to nothing: reading it shows that. Of a device or a pipe reading may never end. */
function maybeFile(path: string): boolean {
  return attempt(() => fs.statSync(path).isFile()) ?? true;
}
