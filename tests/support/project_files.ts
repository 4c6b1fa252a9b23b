/** Files of a folder that a test makes into a project. */

import { parse as parseJsonc } from "@std/jsonc";
import { gzipSync } from "node:zlib";
import { type Folder, ROOT } from "./child.ts";

/** A `deno.json` of a project that uses this very clone in place of a package. */
export const LINKED = `{
  "links": [${JSON.stringify(ROOT)}],
  "imports": {
    "@toolgate/toolgate": "jsr:@toolgate/toolgate@^0.2.0"
  }
}
`;

/** A gzipped tar archive: the kind of each item, `0` for a file, stands before its path. */
export function tarball(files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const blocks = Object.entries(files).map(([name, text]) => {
    const header = name.slice(1).padEnd(124, "\0") + text.length.toString(8).padStart(11, "0");
    const whole = header.padEnd(156, "\0") + name[0] + "".padEnd(100, "\0") + "ustar\x0000";
    return whole.padEnd(512, "\0") + text.padEnd(Math.ceil(text.length / 512) * 512, "\0");
  });
  return Uint8Array.from(gzipSync(`${blocks.join("")}${"\0".repeat(1024)}`));
}

/** A package as small as possible, in a tarball. */
export const PACKAGE: Readonly<Record<string, string>> = {
  "5package/lib/": "",
  "0package/package.json": '{ "name": "@toolgate/toolgate", "version": "0.3.0" }',
  "0package/lib/mod.js": "export const mine = 1;\n",
};

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
