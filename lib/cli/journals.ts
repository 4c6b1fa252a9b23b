/**
 * Journals on the command line: files, and folders that stand for those in them.
 * @module
 */

import { cannotFile } from "../base/errors.ts";
import { printable } from "../base/json.ts";
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
  const names = journalsIn(userPath(operand), operand);
  if (names.length === 0) {
    throw options.error(`the folder ${operand} has no journals, whose names end in .jsonl`);
  }
  // Nobody has typed these names, which are printed as they are.
  const odd = names.find((name) => printable(name, Infinity) !== name);
  if (odd !== undefined) {
    throw options.error(`names of journals must be plain text: ${operand} has ${printable(odd)}`);
  }
  return names.map((name) => `${operand.replace(/[/\\]+$/, "")}/${name}`);
}

/** Whether an operand is a folder, or a link to one; `false` if that cannot be read: opening it gives the error. */
export function isFolder(operand: string): boolean {
  try {
    return Deno.statSync(userPath(operand)).isDirectory;
  } catch {
    return false;
  }
}

function journalsIn(folder: string, shown: string): string[] {
  try {
    return [...Deno.readDirSync(folder)]
      .filter(({ name }) => name.endsWith(".jsonl") && !name.startsWith("."))
      .filter((entry) => entry.isFile || entry.isSymlink && !isFolder(`${folder}/${entry.name}`))
      .map(({ name }) => name).sort();
  } catch (error) {
    throw cannotFile(`read the folder ${shown}`, error);
  }
}
