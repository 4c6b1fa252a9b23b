/**
 * Claimed files: the output files of the benchmarks of a run, none of which may share one.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { listOf } from "../runs/suite.ts";
import { sha256 } from "../base/hash.ts";
import { shownFile } from "../base/user_code.ts";
import { resolvePath } from "../base/output_file.ts";
import process from "node:process";
import { isGranted } from "#runtime";
import { perFile, runner } from "./_runners.ts";
import type { Settings } from "../runs/session.ts";

/** What files in a folder are named after. */
export interface FileOwner {
  /** The name of the benchmark or suite. */
  readonly name: string;
  /** The test file, from the working folder, of a suite that may have tests in other files too; omitted for others. */
  readonly file?: string | undefined;
  /** Set for a suite that has no name of its own but that of its test file. */
  readonly isFile?: boolean;
}

/** Replaces each folder, a path ending in "/", by a file in it that is named after its benchmark or suite. */
export function withFileNames(settings: Settings, owner: FileOwner): Settings {
  const { journal, report, verdict, shard, wave } = settings;
  const file = (path: string, extension: string) =>
    path.endsWith("/") ? `${path}${fileName(owner)}.${extension}` : path;
  // The shards and waves of a run are in one folder.
  const part = (wave === undefined ? "" : `wave${wave.index}.`) +
    (shard === undefined ? "" : `shard${shard.index}.`);
  const ofFiles = owner.file !== undefined && !owner.isFile;
  return {
    ...settings,
    ofFiles,
    journal: journal && file(journal, `${part}jsonl`),
    folder: ofFiles && journal?.endsWith("/") ? journal : undefined,
    report: report && listOf(report).map((path) => file(path, "html")),
    verdict: verdict && file(verdict, "json"),
  };
}

/**
 * A name that every file system accepts, such as `support.tests.refunds_test` for the tests of the suite `support` in
 * `tests/refunds_test.ts`: that of no other test file. A name has no dot, so that nothing of a path can seem to be of it.
 */
function fileName({ name, file, isFile }: FileOwner): string {
  if (file === undefined) return plainName(name);
  return isFile ? fileWords(file) : `${plainName(name)}.${fileWords(file)}`;
}

function plainName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "").slice(0, 80);
  // Names in other scripts would all become the same.
  // deno-lint-ignore no-control-regex
  return /^[\x00-\x7f]*$/.test(name) && plain !== ""
    ? plain
    : [plain, shortHash(name)].filter((part) => part !== "").join("_");
}

/** At most this many characters of a path are kept: file systems take 255 bytes for a name. */
const MAX_WORDS = 120;

/** The path of a test file as a part of a name: a path with other characters gets a hash, so that no two are alike. */
function fileWords(file: string): string {
  const path = file.replace(/\.ts$/, "");
  const isPlain = /^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/.test(path) && path.length <= MAX_WORDS &&
    path !== file;
  const words = path.toLowerCase().replace(/[^a-z0-9_/-]+/g, "_").split("/").filter(Boolean)
    .join(".");
  return isPlain ? words : `${words.slice(-MAX_WORDS)}+${shortHash(file)}`;
}

function shortHash(text: string): string {
  return sha256(text).slice(0, 8);
}

/** The files that this test file's benchmarks write, with the benchmark of each. */
const files = perFile(() => new Map<string, { readonly name: string }>());

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
  const owner = files().get(place);
  if (owner === benchmark) {
    throw cannot(
      `keep the ${what} of ${subject} in ${file}`,
      "each file can be written only once",
      "it is named twice",
    );
  }
  const other = owner?.name ?? claimElsewhere(place);
  if (other !== undefined) {
    // In a folder the files of these would have the same name again.
    const isNamesake = owner !== undefined && plainName(owner.name) === plainName(benchmark.name);
    const namesake = printable(other, 100);
    const folder = `${printable(file, 200).replace(/\.[^./]*$/, "")}/`;
    throw cannot(
      `keep the ${what} of ${subject} in ${file}`,
      "a file belongs to one suite or benchmark",
      isNamesake
        ? `another one, ${namesake}, has it, and files are named after them. Give one of them another name`
        : `${other} has it. Give a folder, such as ${folder}, in which each has a file of its own`,
    );
  }
  files().set(place, benchmark);
}

/**
 * Claims a file for this test file, as far as a variable may be used that is named after it; otherwise returns how to
 * refer to the benchmark of the test file that has it. Variables are all that the test files of one run share.
 */
function claimElsewhere(place: string): string | undefined {
  const variable = `TOOLGATE_CLAIMED_${sha256(place).slice(0, 16)}`;
  if (!isGranted({ name: "env", variable })) return;
  // A process that a test starts inherits the variable.
  const own = `${process.pid} `;
  const kept = process.env[variable] ?? "";
  const file = runner().file().url;
  // Where files are watched, a test file is loaded again.
  const owner = kept.startsWith(own) ? kept.slice(own.length) : file;
  if (owner !== file) return `one of ${printable(shownFile(owner), 500)}`;
  process.env[variable] = own + owner;
}

/** Claims a file that is only read, which several benchmarks may share. */
export function shareFile(file: string, what: string): void {
  files().set(resolvePath(file), { name: what });
}
