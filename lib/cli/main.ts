/**
 * The command line: `deno run -A @toolgate/toolgate/cli COMMAND`.
 *
 * Exit codes: 0 pass, 1 gate failed or alarm, 2 bad input, 3 undecided or invalid, 4 continue with the next wave.
 * @module
 */

import { commandLine } from "../base/command_line.ts";
import { InputError } from "../base/errors.ts";
import { printable, printableLines } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { hasJobSummary } from "../reports/job_summary.ts";
import { keepOnly, type Need } from "./permissions.ts";
import { redact, redactRecord } from "../base/redact.ts";

interface Command {
  /** Loads the command, so that one command does not wait for the others to load. */
  readonly load: () => Promise<{
    readonly run: (arguments_: readonly string[]) => number | Promise<number>;
    readonly help: string;
  }>;
  readonly summary: string;
  /** What stands behind its name. */
  readonly usage: string;
  /** Returns the permissions it keeps; `given` says whether any of some options is given. */
  readonly needs: (
    given: (...options: readonly string[]) => boolean,
    arguments_: readonly string[],
  ) => readonly Need[];
  /** Whether it runs an agent that is a program, if its suite has one, and gives up what that would need if not. */
  readonly mayHaveAgent?: true;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  init: {
    load: async () => {
      const { init, INIT_HELP } = await import("./init.ts");
      return { run: init, help: INIT_HELP };
    },
    summary: "sets up a project of your own",
    usage: "[FOLDER]",
    needs: () => ["read", "write"],
  },
  generate: {
    load: async () => {
      const { generate, GENERATE_HELP } = await import("./generate.ts");
      return { run: generate, help: GENERATE_HELP };
    },
    summary: "prints one task",
    usage: "--core N --depth N [OPTIONS]",
    needs: () => ["read"],
  },
  run: {
    load: async () => {
      const { run, RUN_HELP } = await import("./run.ts");
      return { run, help: RUN_HELP };
    },
    summary: "runs the trials of a suite file",
    usage: "[SUITE.jsonc] [OPTIONS]",
    needs: (given) => [
      ...given("replay") ? [] : ["net" as const],
      "read",
      ...given("out", "record", "auto") || hasJobSummary() ? ["write" as const] : [],
    ],
    mayHaveAgent: true,
  },
  gate: {
    load: async () => {
      const { gate, GATE_HELP } = await import("./gate.ts");
      return { run: gate, help: GATE_HELP };
    },
    summary: "decides over the trials of journals",
    usage: "F.jsonl|FOLDER... [OPTIONS]",
    // It writes the job summary, where there is one.
    needs: () => ["read", "write"],
  },
  report: {
    load: async () => {
      const { report, REPORT_HELP } = await import("./report.ts");
      return { run: report, help: REPORT_HELP };
    },
    summary: "shows tables, figures and trials of journals",
    usage: "F.jsonl|FOLDER... [OPTIONS]",
    needs: (
      given,
    ) => ["read", ...given("html", "markdown", "json", "csv", "svg") ? ["write" as const] : []],
  },
  accept: {
    load: async () => {
      const { accept, ACCEPT_HELP } = await import("./accept.ts");
      return { run: accept, help: ACCEPT_HELP };
    },
    summary: "makes results a baseline, or a release",
    usage: "F.jsonl|FOLDER... [OPTIONS]",
    needs: () => ["read", "write"],
  },
  history: {
    load: async () => {
      const { history, HISTORY_HELP } = await import("./history.ts");
      return { run: history, help: HISTORY_HELP };
    },
    summary: "keeps what runs came to, and shows it over time",
    usage: "add F.jsonl|FOLDER... --to DIR | show DIR... [OPTIONS]",
    needs: (
      given,
      [what],
    ) => ["read", ...what === "add" || given("html") ? ["write" as const] : []],
  },
  canary: {
    load: async () => {
      const { canary, CANARY_HELP } = await import("./canary.ts");
      return { run: canary, help: CANARY_HELP };
    },
    summary: "watches a history for drift",
    usage: "DIR... [OPTIONS]",
    needs: () => ["read"],
  },
  plan: {
    load: async () => {
      const { plan, PLAN_HELP } = await import("./plan.ts");
      return { run: plan, help: PLAN_HELP };
    },
    summary: "shows how many trials a gate needs",
    usage: "[SUITE.jsonc] [OPTIONS]",
    needs: () => ["read"],
  },
  selfcheck: {
    load: async () => {
      const { selfcheck, SELFCHECK_HELP } = await import("./selfcheck.ts");
      return { run: selfcheck, help: SELFCHECK_HELP };
    },
    summary: "checks how often the gate errs",
    usage: "SUITE.jsonc | F.jsonl|FOLDER... [OPTIONS]",
    // Journals are only read; a suite is run.
    needs: (given, arguments_) => [
      "read",
      ...given("out")
        ? ["net" as const, "write" as const, "run" as const]
        : arguments_.some((one) => one.endsWith(".jsonl"))
        ? []
        : ["net" as const, "run" as const],
    ],
  },
  perturb: {
    load: async () => {
      const { perturb, PERTURB_HELP } = await import("./perturb.ts");
      return { run: perturb, help: PERTURB_HELP };
    },
    summary: "shows what a perturbation changes",
    usage: "--method ID[+ID...] FILE [OPTIONS]",
    needs: (given) => [...given("writer") ? ["net" as const] : [], "read"],
  },
  score: {
    load: async () => {
      const { score, SCORE_HELP } = await import("./score.ts");
      const run = async (rest: readonly string[]) => {
        if (rest[0] !== "traces") return score(rest);
        const { scoreTraces } = await import("./score_traces.ts");
        return await scoreTraces(rest.slice(1));
      };
      return { run, help: SCORE_HELP };
    },
    summary: "scores predicted calls, traces, and how stable outputs are",
    usage: "callnavi DATA F.jsonl | stability F.jsonl | traces FILE --with TESTS.ts [OPTIONS]",
    // Traces are judged by tests, which another process runs.
    needs: (_, [kind]) => kind === "traces" ? ["read", "write", "run"] : ["read"],
  },
  export: {
    load: async () => {
      const { exportTrials, EXPORT_HELP } = await import("./export.ts");
      return { run: exportTrials, help: EXPORT_HELP };
    },
    summary: "writes conversations of journals to train models on",
    usage: "F.jsonl|FOLDER... --format F [OPTIONS]",
    needs: (given) => ["read", ...given("out", "metadata") ? ["write" as const] : []],
  },
  simulate: {
    load: async () => {
      const { simulate, SIMULATE_HELP } = await import("./simulate.ts");
      return { run: simulate, help: SIMULATE_HELP };
    },
    summary: "serves simulated models over HTTP",
    usage: "[OPTIONS]",
    needs: () => ["net", "read"],
  },
};

/** What asks for help in place of a command. */
const HELP_WORDS: readonly string[] = ["help", "--help", "-h"];

/** The help of the whole command line: it names the line that works where the user stands. */
function overview(): string {
  const commands = Object.entries(COMMANDS).map(([name, { summary }]) =>
    `  ${name.padEnd(10)} ${summary}\n`
  );
  return `toolgate: tests of how well language models call tools

Usage: ${commandLine("COMMAND [OPTIONS]")}

${commands.join("")}
COMMAND --help, or help COMMAND, lists a command's options; --version tells the version.
Exit codes: 0 pass, 1 gate failed or alarm, 2 bad input, 3 undecided or invalid, 4 continue with the next wave.`;
}

/** The help of one command. */
function helpOf(name: string, help: string): string {
  const { summary, usage } = COMMANDS[name]!;
  return `toolgate ${name}: ${summary}\n\nUsage: ${commandLine(`${name} ${usage}`)}\n\n${help}`;
}

/** What is said of a first word that is no command. */
function unknownCommand(word: string): string {
  const isOption = word.startsWith("-");
  const reason = isOption
    ? `a command must come before the option ${word.split("=")[0]}`
    : `there is no command ${word}${nearestOrAll(word, Object.keys(COMMANDS))}`;
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
    const { default: { version } } = await import("../../deno.json", { with: { type: "json" } });
    console.log(`toolgate ${version}`);
    return 0;
  }
  const isHelp = first === undefined || HELP_WORDS.includes(first);
  const [name, ...rest] = isHelp ? others : arguments_;
  if (name === undefined || isHelp && HELP_WORDS.includes(name)) {
    console.log(overview());
    return first === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    console.error(unknownCommand(name));
    return 2;
  }
  const command = COMMANDS[name]!;
  const { run, help } = await command.load();
  if (isHelp || rest.includes("--help") || rest.includes("-h")) {
    console.log(helpOf(name, help));
    return 0;
  }
  const hasOption = (...options: readonly string[]) => options.some((one) => isOption(rest, one));
  keepOnly(command.needs(hasOption, rest), command.mayHaveAgent);
  try {
    return await run(rest);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.error(error.message);
    return 2;
  }
}

function isOption(arguments_: readonly string[], option: string): boolean {
  return arguments_.some((one) => one === `--${option}` || one.startsWith(`--${option}=`));
}

/** Exits with 3 after an internal error, which must not look like a gate that failed. */
function crash(error: unknown): never {
  console.error(printableLines(redact(Deno.inspect(error))));
  Deno.exit(3);
}

if (import.meta.main) {
  globalThis.addEventListener("unhandledrejection", ({ reason }) => crash(reason));
  globalThis.addEventListener("error", ({ error }) => crash(error));
  Deno.exit(await main(Deno.args).catch(crash));
}
