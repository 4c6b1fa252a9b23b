/**
 * Shortens what `deno test` prints about benchmarks of hundreds of cases: reads it from standard input, and leaves out
 * the lines of cases that passed. Progress, failures, tables and verdicts stay.
 *
 * ```sh
 * deno test my_benchmark.ts | deno run @toolgate/toolgate/brief
 * ```
 * @module
 */

import process from "node:process";
import { isMain } from "#runtime";

/** A test or step that ended well, one that has begun, and the frames around what tests print. */
const NEEDLESS =
  /^running \d+ tests? from | \.\.\.(?: (?:ok|ignored) \([^()]*\))?$|^-+ (?:[a-z]+-test )?output (?:end )?-+$/;

// deno-lint-ignore no-control-regex -- the colours of the runner
const COLOURS = /\x1b\[[\d;]*m/g;

/** Returns which lines to print; what is left out between blank lines leaves one of them. */
function* brief(lines: Iterable<string>, state: { isBlank: boolean }): Iterable<string> {
  for (const line of lines) {
    const plain = line.replace(COLOURS, "").trimEnd();
    if (NEEDLESS.test(plain) || plain === "" && state.isBlank) continue;
    state.isBlank = plain === "";
    yield line;
  }
}

if (isMain(import.meta)) {
  const state = { isBlank: true };
  let rest = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of brief(lines, state)) console.log(line);
  }
  for (const line of brief(rest === "" ? [] : [rest], state)) console.log(line);
}
