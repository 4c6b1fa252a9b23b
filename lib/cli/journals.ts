/**
 * Journals on the command line: files, and folders that stand for those in them.
 * @module
 */

import { printable } from "../base/json.ts";
import { suiteOf } from "../runs/journal/journal.ts";
import * as journals from "../runs/journal/jsonl.ts";
import { type Arguments, userPath } from "./arguments.ts";

/**
 * Returns the journals that a command is given, as the user would name them: see {@linkcode journalsAt}.
 *
 * @throws {InputError} If none is given, or a folder cannot be read or has none.
 */
export function journalsGiven(
  options: Arguments,
  operands: readonly string[] = options.operands,
): string[] {
  if (operands.length === 0) {
    throw options.error("it takes one journal or more: none is given");
  }
  return operands.flatMap((operand) => journalsAt(operand, options));
}

/**
 * Returns the journals that a path stands for. A folder stands for the files in it whose names end in `.jsonl`, in the
 * order of their names; what is hidden or in folders of its own is left out.
 *
 * @throws {InputError} If it is a folder that cannot be read, or has none.
 */
export function journalsAt(operand: string, options: Arguments): string[] {
  if (operand === "") throw options.error("a journal must have a name: it is empty");
  if (!isFolder(operand)) return [operand];
  const names = journals.journalsIn(userPath(operand), operand);
  if (names.length === 0) {
    throw options.error(`the folder ${operand} has no journals, whose names end in .jsonl`);
  }
  return names.map((name) => journals.pathIn(operand, name));
}

/** Whether an operand is a folder, or a link to one; `false` if that cannot be read: opening it gives the error. */
export function isFolder(operand: string): boolean {
  return journals.isFolder(userPath(operand));
}

/** Journals of one suite. */
export interface SuiteJournals {
  /** The name of the suite or, of journals whose run died before they had one, of the journals. */
  readonly suite: string;
  readonly journals: readonly string[];
}

/** Returns the journals of each suite, by name: empty ones by themselves, unless there is only one suite. */
export function journalsBySuite(journals: readonly string[]): SuiteJournals[] {
  const suites = Map.groupBy(journals, (journal) => suiteOf(userPath(journal)));
  const empty = suites.get(undefined) ?? [];
  suites.delete(undefined);
  if (suites.size < 2) return [{ suite: "", journals }];
  return [
    ...[...suites].map(([suite, journals]) => ({ suite: printable(suite!, 300), journals }))
      .sort((one, other) => one.suite < other.suite ? -1 : 1),
    ...(empty.length === 0 ? [] : [{ suite: empty.join(", "), journals: empty }]),
  ];
}
