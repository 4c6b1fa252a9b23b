/**
 * Programs under a terminal of their own.
 */

import { type Child, start } from "./child.ts";

/** Whether there is `script` of util-linux, which runs a command under a terminal of its own. */
export async function hasScript(): Promise<boolean> {
  let found = false;
  try {
    found = (await start("script", ["--version"]).finished).stdout.includes("util-linux");
  } catch {
    // There is no such program.
  }
  if (!found) console.error("Skipped: these tests need script (util-linux) for a terminal");
  return found;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Starts a command under a terminal; all that it writes is on stdout. */
export function onTerminal(
  words: readonly string[],
  { columns, cwd, pidFile = "/dev/null" }: {
    readonly columns: number;
    /** Default: the project's folder. */
    readonly cwd?: string;
    /** Gets its process id. */
    readonly pidFile?: string;
  },
): Child {
  const command = words.map(quoted).join(" ");
  const told = `stty cols ${columns} rows 24; echo $$ > ${quoted(pidFile)}; exec ${command}`;
  return start("script", ["-qec", told, "/dev/null"], cwd === undefined ? {} : { cwd });
}
