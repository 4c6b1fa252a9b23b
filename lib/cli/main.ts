/**
 * The command line: `deno run -A @toolgate/toolgate/cli COMMAND`.
 *
 * Exit codes: 0 pass, 1 gate failed or alarm, 2 bad input, 3 undecided or invalid, 4 continue with the next wave.
 * @module
 */

import process from "node:process";
import defer * as util from "node:util";
import { isMain } from "#runtime";
import { commandLine } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { printable, printableLines } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { redact, redactRecord } from "../base/redact.ts";
import { keepOnly } from "./command.ts";
import { COMMANDS } from "./commands.ts";

const NAMES = Object.keys(COMMANDS);

/** What asks for help in place of a command. */
const HELP_WORDS: readonly string[] = ["help", "--help", "-h"];

/** The help of the whole command line: it names the line that works where the user stands. */
function overview(): string {
  const commands = Object.entries(COMMANDS).map(([name, [summary]]) =>
    `  ${name.padEnd(16)} ${summary}\n`
  );
  return `toolgate: tests of how well language models call tools

Usage: ${commandLine("COMMAND [OPTIONS]")}

${commands.join("")}
COMMAND --help, or help COMMAND, lists a command's options; --version prints the version.
Exit codes: 0 pass, 1 gate failed or alarm, 2 bad input, 3 undecided or invalid, 4 continue with the next wave.`;
}

/** The help of one command. */
async function helpOf(name: string): Promise<string> {
  const [summary, load] = COMMANDS[name]!;
  const { usage, help } = await load();
  return `toolgate ${name}: ${summary}\n\nUsage: ${commandLine(`${name} ${usage}`)}\n\n${help}`;
}

/** What is said of words that are no command; `group` are the commands that begin with the first one. */
function unknownCommand([first = "", second]: readonly string[], group: readonly string[]): string {
  const words = group.length > 0 ? `${first} ${second}` : first;
  const known = group.length > 0 ? group : [...new Set(NAMES.map((name) => name.split(" ")[0]!))];
  const reason = first.startsWith("-")
    ? `a command must come before the option ${first.split("=")[0]}`
    : group.length > 0 && second === undefined
    ? `the command must be ${group.join(" or ")}: it is ${first}`
    : `there is no command ${words}${nearestOrAll(words, known)}`;
  return `Cannot run toolgate: ${printable(redactRecord(reason))} (see ${commandLine("--help")})`;
}

/**
 * Runs one command and returns its exit code; prints bad input to stderr.
 *
 * @example Usage
 * ```ts
 * import { main } from "@toolgate/toolgate/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["--help"]), 0);
 * ```
 */
export async function main(arguments_: readonly string[]): Promise<number> {
  const [first, ...others] = arguments_;
  if (first === "--version" || first === "-V" || first === "version") {
    const { ownRelease } = await import("../base/clone.ts");
    console.log(`toolgate ${ownRelease().version}`);
    return 0;
  }
  const isHelp = first === undefined || HELP_WORDS.includes(first);
  const words = isHelp ? others : arguments_;
  if (words[0] === undefined || isHelp && HELP_WORDS.includes(words[0])) {
    console.log(overview());
    return first === undefined ? 2 : 0;
  }
  const [word] = words;
  // The name of a command has one word or two.
  const name = [word, words.slice(0, 2).join(" ")].find((one) => Object.hasOwn(COMMANDS, one));
  const group = name === undefined ? NAMES.filter((one) => one.startsWith(`${word} `)) : [name];
  if (group.length > 0 && (isHelp || words.includes("--help") || words.includes("-h"))) {
    console.log((await Promise.all(group.map(helpOf))).join("\n\n\n"));
    return 0;
  }
  if (name === undefined) {
    console.error(unknownCommand(words, group));
    return 2;
  }
  try {
    const command = await COMMANDS[name]![1]();
    const { needs, run } = command.read(name, words.slice(name === word ? 1 : 2));
    keepOnly(needs);
    return await run();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.error(error.message);
    return 2;
  }
}

/** Exits with 3 after an internal error, which must not look like a gate that failed. */
function crash(error: unknown): never {
  console.error(printableLines(redact(util.inspect(error))));
  process.exit(3);
}

if (isMain(import.meta)) {
  process.on("unhandledRejection", crash).on("uncaughtException", crash);
  process.exit(await main(process.argv.slice(2)).catch(crash));
}
