/**
 * Claimed files: the output files of the benchmarks of a run, none of which may share one.
 * @module
 */

import type { Flags } from "./_flags.ts";
import { cannot } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { shownFile } from "../base/user_code.ts";
import { resolvePath } from "../base/output_file.ts";

/** Replaces each folder, a path ending in "/", by a file in it that is named after the benchmark. */
export function withFileNames(flags: Flags, name: string): Flags {
  const { journal, report, verdict } = flags;
  const file = (path: string, extension: string) =>
    path.endsWith("/") ? `${path}${fileName(name)}.${extension}` : path;
  return {
    ...flags,
    ...defined({
      journal: journal === undefined ? undefined : file(journal, "jsonl"),
      report: report?.map((path) => file(path, "html")),
      verdict: verdict === undefined ? undefined : file(verdict, "json"),
    }),
  };
}

/** A name that every file system accepts. */
function fileName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 80);
  // Names in other scripts would all become the same.
  // deno-lint-ignore no-control-regex
  return /^[\x00-\x7f]*$/.test(name) && plain !== ""
    ? plain
    : [plain, sha256(name).slice(0, 8)].filter((part) => part !== "").join("_");
}

/** The files that this test file's benchmarks write, with the benchmark of each. */
const files = new Map<string, { readonly name: string }>();

/**
 * Claims an output file for one benchmark.
 *
 * @throws {InputError} If it is named like a journal but is not for trials, or it is claimed already.
 */
export function claimFile(
  benchmark: { readonly name: string; readonly subject: string },
  file: string,
  what: string,
): void {
  const { subject } = benchmark;
  if (what !== "trials" && file.endsWith(".jsonl")) {
    throw cannot(
      `write the ${what} of ${subject} to ${file}`,
      "that is a name for journals",
      "what was paid for must not be overwritten",
    );
  }
  const place = resolvePath(file);
  const owner = files.get(place);
  if (owner === benchmark) {
    throw cannot(
      `keep the ${what} of ${subject} in ${file}`,
      "each file can be written only once",
      "it is named twice",
    );
  }
  const other = owner?.name ?? claimElsewhere(place);
  if (other !== undefined) {
    throw cannot(
      `keep the ${what} of ${subject} in ${file}`,
      "a file belongs to one benchmark",
      `${other} has it. Run one file at a time, or give each benchmark a file of its own`,
    );
  }
  files.set(place, benchmark);
}

/**
 * Claims a file for this test file, as far as a variable may be used that is named after it; otherwise returns how to
 * refer to the benchmark of the test file that has it. Variables are all that the test files of one run share.
 */
function claimElsewhere(place: string): string | undefined {
  const variable = `TOOLGATE_CLAIMED_${sha256(place).slice(0, 16)}`;
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return;
  // A process that a test starts inherits the variable.
  const own = `${Deno.pid} `;
  const kept = Deno.env.get(variable) ?? "";
  // Where files are watched, a test file is loaded again.
  const owner = kept.startsWith(own) ? kept.slice(own.length) : Deno.mainModule;
  if (owner !== Deno.mainModule) return `one of ${printable(shownFile(owner), 500)}`;
  Deno.env.set(variable, own + owner);
}

/** Claims a file that is only read, which several benchmarks may share. */
export function shareFile(file: string, what: string): void {
  files.set(resolvePath(file), { name: what });
}
