/**
 * The files that `report` writes: what they may be, and that nothing else is lost by them.
 * @module
 */

import { dirname } from "node:path";
import { assertReplaceable, resolvePath } from "../base/output_file.ts";
import { isUpgrade } from "../gate/policy.ts";
import { assertCsvFolder, CSV_FILES } from "../reports/csv.ts";
import type { Report } from "../reports/report.ts";
import { assertSvgFolder } from "../reports/svg.ts";
import type { Collection } from "../runs/journal/collection.ts";
import { type Arguments, userPath } from "./arguments.ts";

/** The options that name a file or a folder to write to, in the order in which these are written. */
export const OUTPUTS = ["html", "markdown", "json", "csv", "svg"] as const;

/** An option of {@linkcode OUTPUTS}, and the path that a user gave. */
export interface ReportOutput {
  readonly name: typeof OUTPUTS[number];
  readonly file: string;
}

/**
 * Returns what is written.
 *
 * @throws {InputError} If an output would overwrite a file that is read, or another output.
 */
export function outputsOf(options: Arguments, read: readonly string[]): ReportOutput[] {
  const outputs = OUTPUTS.flatMap((name) => {
    const file = options.text(name);
    return file === undefined ? [] : [{ name, file }];
  });
  assertOutputs(options, outputs, read);
  return outputs;
}

/**
 * Checks that folders, and JSON that programs read, replace nothing but what the command wrote before. A page and
 * Markdown are written to the file that is named, whatever it is.
 *
 * @throws {InputError} If one would replace another file.
 */
export function assertReplaceableOutputs(outputs: readonly ReportOutput[], report: Report): void {
  for (const { name, file } of outputs) {
    const path = userPath(file);
    if (name === "csv") assertCsvFolder(path, file);
    if (name === "svg") assertSvgFolder(path, report, file);
    if (name === "json") {
      assertReplaceable(path, "the report to", {
        ...{ kind: "another such report", shown: file },
        isOwn: ({ kind }) => kind === "report",
      });
    }
  }
}

/** Fewer bytes have no room for verdicts. */
const LEAST_LIMIT = 2_000;

/** Returns the bytes that Markdown may have; `undefined` for any number. */
export function limitOf(options: Arguments): number | undefined {
  const text = options.text("limit");
  if (text === undefined) return undefined;
  if (options.text("markdown") === undefined) throw options.error("--limit goes with --markdown");
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= LEAST_LIMIT) return limit;
  throw options.error(
    `--limit must be a whole number of bytes from ${LEAST_LIMIT} on: it is ${text}`,
  );
}

/** @throws {InputError} If an output would overwrite an input or another output. */
function assertOutputs(
  options: Arguments,
  outputs: readonly ReportOutput[],
  read: readonly string[],
): void {
  const inputs = read.map((file) => resolvePath(userPath(file)));
  for (const [index, { name, file }] of outputs.entries()) {
    if (file.endsWith(".jsonl")) {
      throw options.error(
        `--${name} must not be a journal, whose name ends in .jsonl: it is ${file}`,
      );
    }
    if (placesOf({ name, file }).some((path) => inputs.includes(path))) {
      throw options.error(`--${name} must not be a file that is read: it is ${file}`);
    }
    if (name !== "json" && /\.jsonc?$/.test(file)) {
      throw options.error(`--${name} must not be named like a suite or a baseline: it is ${file}`);
    }
    const others = outputs.slice(0, index).flatMap(placesOf);
    if (placesOf({ name, file }).some((path) => others.includes(path))) {
      throw options.error(`each file can be written only once: ${file} is named twice`);
    }
    // Which figures there are is known later.
    const [folder] = name === "svg" ? placesOf({ name, file }) : [];
    const figure = others.find((path) => dirname(path) === folder && path.endsWith(".svg"));
    if (figure !== undefined) {
      throw options.error(`no other file may have the name of a figure of --svg: it is ${figure}`);
    }
  }
}

/** Returns the paths of an output: of a folder also those of the files in it. */
function placesOf({ name, file }: ReportOutput): string[] {
  const path = userPath(file);
  return [path, ...(name === "csv" ? CSV_FILES.map((own) => `${path}/${own}`) : [])]
    .map(resolvePath);
}

/** @throws {InputError} If an output would overwrite the baseline of a plan. */
export function assertNoBaseline(
  options: Arguments,
  outputs: readonly ReportOutput[],
  { runs }: Collection,
): void {
  const baselines = runs.flatMap(({ results: { gate } }) =>
    gate !== undefined && isUpgrade(gate) && gate.baseline.file !== undefined
      ? [resolvePath(userPath(gate.baseline.file))]
      : []
  );
  for (const { name, file } of outputs) {
    if (!baselines.includes(resolvePath(userPath(file)))) continue;
    throw options.error(`--${name} must not be the baseline of the gate: it is ${file}`);
  }
}
