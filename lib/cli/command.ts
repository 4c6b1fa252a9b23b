/**
 * Commands: each is declared once, and what parses, checks and describes its arguments is made from that.
 * @module
 */

import { giveUp } from "#runtime";
import { commandLine } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { breakLines } from "../base/wrap.ts";
import {
  type Flag,
  type FlagsGiving,
  type FlagValues,
  type NamedFlag,
  namedFlags,
  readArguments,
} from "../runs/flags.ts";

/**
 * A permission that a command may need in addition to environment variables; `agent` is what a suite decides:
 * whether an agent that is a program is run, and gets a file.
 */
export type Need = "net" | "read" | "write" | "run" | "agent";

/** Options of a command, by name. */
export type Options = Readonly<Record<string, Flag & { readonly help: string }>>;

/**
 * A rule on arguments: what breaks it, in words; or what options go with and why, where `a file` stands for any
 * argument that is no option.
 */
export type Rule<Values> =
  | readonly [broken: (given: Values, rest: Omit<Rest, "error">) => unknown, rule: string]
  | readonly [
    options: readonly string[],
    relation: "goes with" | "goes without",
    others: readonly string[],
    why?: string,
  ];

/** What the work of a command gets beside its options. */
export interface Rest {
  /** The arguments that are no options, in order. */
  readonly operands: readonly string[];
  /** A program and its arguments, which stand after `--`; empty for commands that take none. */
  readonly program: readonly string[];
  /** Makes an error that names the command. */
  readonly error: (reason: string) => InputError;
}

/** All there is to say of a command but its name and summary, which `commands.ts` has. */
export interface Declaration<O extends Options, More> {
  /** What stands behind its name in the line of its usage. */
  readonly usage: string;
  /** The arguments that it takes besides options, in words, and how many at least and at most; default: none. */
  readonly takes?: readonly [words: string, least: number, most: number];
  /** What `--help` says before the options. */
  readonly about?: string;
  /** Whether what stands after `--` is a program with its arguments; default: arguments like all others. */
  readonly takesProgram?: boolean;
  readonly options?: O;
  /** What it has of the table of options, too. */
  readonly flags?: FlagsGiving<More>;
  /** What `--help` says after the options; default: that the exit code is 0. */
  readonly notes?: string;
  /** The permissions that it keeps. */
  readonly needs:
    | readonly Need[]
    | ((given: FlagValues<O> & More, rest: Omit<Rest, "error">) => readonly Need[]);
  readonly rules?: readonly Rule<FlagValues<O> & More>[];
  /** Does its work, and returns the exit code. */
  readonly run: (given: FlagValues<O> & More, rest: Rest) => number | Promise<number>;
}

/** A command. */
export interface Command extends Pick<Declaration<Options, unknown>, "usage"> {
  /** All of its options. */
  readonly flags: readonly NamedFlag[];
  /** What `--help` says of it. */
  readonly help: string;
  /**
   * Reads its arguments.
   *
   * @throws {InputError} If they cannot be used.
   */
  readonly read: (name: string, arguments_: readonly string[]) => {
    readonly needs: readonly Need[];
    /** Does its work, and returns the exit code. */
    readonly run: () => number | Promise<number>;
  };
}

/** Options that would hold a key, such as `--api-key`. */
const SECRET_OPTION = /^--?[\w-]*(?:key|token|secret|password|authorization|headers?)(?:=|$)/i;
const NO_KEYS =
  "keys are never given on a command line, which others can see: set OPENAI_API_KEY, or " +
  "another variable that the model's apiKeyVariable names in the suite";

/** Stands for an argument that is no option. */
const A_FILE = "a file";

/** Makes a command of its declaration. */
export function command<
  const O extends Options = Record<never, never>,
  More extends object = object,
>(declaration: Declaration<O, More>): Command {
  const { usage, takes = ["no file", 0, 0], about, options, flags: more = [] } = declaration;
  const flags = [...namedFlags(options ?? {}), ...more];
  const known = flags.map(({ name }) => `--${name}`);
  const { notes = "Exit code 0.", takesProgram = false } = declaration;
  const help = [about, flagHelp(flags), notes].filter(Boolean).join("\n\n");
  return {
    usage,
    flags,
    help,
    read(name, arguments_) {
      const error = (reason: string) =>
        new InputError(
          `Cannot run toolgate ${name}: ${reason} (see ${commandLine(`${name} --help`)})`,
        );
      const read = readArguments(flags, arguments_, error, (argument) => {
        if (SECRET_OPTION.test(argument)) throw error(NO_KEYS);
        const [given] = argument.split("=") as [string];
        throw error(`there is no option ${given}${nearestOrAll(given, known)}`);
      });
      const { values } = read;
      const operands = takesProgram ? read.operands : [...read.operands, ...read.program];
      const program = takesProgram ? read.program : [];
      const [words, least, most] = takes;
      const { length } = operands;
      if (length < least || length > most) {
        const what = length === 0 ? "none is" : most === 0 ? `${operands[0]} is` : `${length} are`;
        throw error(`it takes ${words}: ${what} given`);
      }
      if (operands.includes("")) throw error("no argument may be empty: one is");
      const given = values as FlagValues<O> & More;
      for (const rule of declaration.rules ?? []) {
        const broken = brokenRule(rule, given, { operands, program }, flags);
        if (broken !== undefined) throw error(broken);
      }
      const { needs } = declaration;
      return {
        needs: typeof needs === "function" ? needs(given, { operands, program }) : needs,
        run: () => declaration.run(given, { operands, program, error }),
      };
    },
  };
}

/** Returns the words of a rule that is broken. */
function brokenRule<Values extends object>(
  rule: Rule<Values>,
  given: Values,
  rest: Omit<Rest, "error">,
  flags: readonly NamedFlag[],
): string | undefined {
  if (rule.length === 2) return rule[0](given, rest) ? rule[1] : undefined;
  const [options, relation, others, why] = rule;
  const isGiven = (name: string) =>
    name === A_FILE
      ? rest.operands.length > 0
      : Object.hasOwn(given, flags.find((flag) => flag.name === name)!.option);
  const option = options.find(isGiven);
  const other = others.find(isGiven);
  if (option === undefined || (relation === "goes with") === (other !== undefined)) {
    return undefined;
  }
  const [one, two] = [option, other ?? others[0]!].map((name) =>
    name === A_FILE ? name : `--${name}`
  );
  return `${one} ${relation === "goes with" ? "needs" : "cannot be used with"} ${two}${
    why === undefined ? "" : `: ${why}`
  }`;
}

/** Whether the command writes files, whatever its suite is. */
let isWriting = true;

/**
 * Gives up every permission but `needs` and that to read the environment, for good, so that a bug or an attack can do
 * no more than the command's work.
 */
export function keepOnly(needs: readonly Need[]): void {
  isWriting = needs.includes("write");
  const kept = needs.includes("agent") ? [...needs, "run", "write"] : needs;
  for (const name of ["ffi", "sys", "import", "net", "read", "write", "run"] as const) {
    if (!kept.includes(name as Need)) giveUp(name);
  }
}

/**
 * Gives up, for good, what the agent of a suite does not need: that to run programs, unless it is one, and that to
 * write files, unless it gets the configuration of an MCP server, or the command writes.
 */
export function keepForAgent({ agent }: { readonly agent?: { readonly mcp?: unknown } }): void {
  if (agent === undefined) giveUp("run");
  if (agent?.mcp === undefined && !isWriting) giveUp("write");
}

/** Characters of a line of `--help`, at most. */
const MAX_LINE_LENGTH = 106;
/** Where the sentences of `--help` begin. */
const INDENT = 23;

/** Returns the lines of `--help` that describe flags. */
function flagHelp(flags: readonly NamedFlag[]): string {
  return flags.map(({ name, value, help }) => {
    const head = `  --${name}${value === undefined ? "" : ` ${value}`}`;
    const start = head.length < INDENT ? head.padEnd(INDENT) : `${head}\n${" ".repeat(INDENT)}`;
    const lines = breakLines(help.replaceAll("`", ""), MAX_LINE_LENGTH - INDENT);
    return start + lines.join(`\n${" ".repeat(INDENT)}`);
  }).join("\n");
}
