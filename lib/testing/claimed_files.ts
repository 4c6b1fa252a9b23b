/**
 * The files of the benchmarks in a file of tests: where each writes, and that no two write one.
 * @module
 */

import type { Flags } from "./flags.ts";
import { InputError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { resolvePath } from "../base/output_file.ts";

/** A path that ends as folders do stands for a file in it that bears the name: a file of tests has many. */
export function inFolders(flags: Flags, name: string): Flags {
  const { out, report, verdict } = flags;
  const file = (path: string, extension: string) =>
    path.endsWith("/") ? `${path}${fileName(name)}.${extension}` : path;
  return {
    ...flags,
    ...(out === undefined ? {} : { out: file(out, "jsonl") }),
    ...(report === undefined ? {} : { report: file(report, "html") }),
    ...(verdict === undefined ? {} : { verdict: file(verdict, "json") }),
  };
}

/** A name that every file system takes. */
function fileName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 80);
  // Names in other letters would all be one.
  // deno-lint-ignore no-control-regex
  return /^[\x00-\x7f]*$/.test(name) && plain !== ""
    ? plain
    : [plain, sha256(name).slice(0, 8)].filter((part) => part !== "").join("_");
}

/** The files that this file's benchmarks write: each is of one benchmark. */
const files = new Map<string, string>();

/**
 * Takes a file for what one benchmark writes.
 *
 * @throws {InputError} If it is a journal's and no trials are written, or another benchmark has it.
 */
export function claimFile(
  { name, subject }: { readonly name: string; readonly subject: string },
  file: string,
  what: string,
): void {
  if (what !== "trials" && file.endsWith(".jsonl")) {
    throw new InputError(
      `Cannot write the ${what} of ${subject} to ${file} as that is a name for journals: ` +
        "what was paid for must not be written over",
    );
  }
  const place = resolvePath(file);
  const other = files.get(place);
  if (other !== undefined) {
    throw new InputError(
      `Cannot keep the ${what} of ${subject} in ${file} as a file is of one benchmark: ` +
        `${other} has it. Run one file at a time, or give each benchmark a file of its own`,
    );
  }
  files.set(place, name);
}

/** Takes a file that is read only, which several benchmarks may share. */
export function shareFile(file: string, what: string): void {
  files.set(resolvePath(file), what);
}
