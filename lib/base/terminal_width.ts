/**
 * Terminal width: how many columns there are for what is printed.
 * @module
 */

import { columns, isTerminal } from "#runtime";
import { attempt } from "./errors.ts";

/** Narrower terminals are written for as if they had these columns. */
const LEAST = 40;
/** Columns of what tests print where there is no terminal, such as in the log of a CI job. */
const LOG = 120;

/** Returns the columns for what a command prints; unlimited where that goes to a file or another program. */
export function commandWidth(): number {
  return isTerminal("stdout") ? Math.max(LEAST, terminalColumns() ?? Infinity) : Infinity;
}

/** Returns the columns for what tests print. `deno test` reads that and writes it out, so that only stdin can tell. */
export function testWidth(): number {
  return Math.max(LEAST, terminalColumns() ?? LOG);
}

/** Returns the columns of the terminal; `undefined` where there is none, or it does not know. */
export function terminalColumns(): number | undefined {
  return attempt(() => columns() || undefined);
}
