/**
 * The command line: `deno task toolgate COMMAND`.
 *
 * Exit codes: 0 pass, 1 gate failed, 2 bad input, 3 undecided or invalid.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { printable, printableLines } from "../base/json.ts";
import { keepOnly, type Need } from "./permissions.ts";
import { redact, redactRecord } from "../base/redact.ts";

interface Command {
  /** Loads the command, so that one command does not wait for the others to load. */
  readonly load: () => Promise<{
    readonly run: (arguments_: readonly string[]) => number | Promise<number>;
    readonly help: string;
  }>;
  readonly summary: string;
  /** Returns the permissions it keeps; `given` says whether any of some options is given. */
  readonly needs: (
    given: (...options: readonly string[]) => boolean,
    arguments_: readonly string[],
  ) => readonly Need[];
}

const COMMANDS: Readonly<Record<string, Command>> = {
  generate: {
    load: async () => {
      const { generate, GENERATE_HELP } = await import("./generate.ts");
      return { run: generate, help: GENERATE_HELP };
    },
    summary: "prints one task",
    needs: () => ["read"],
  },
  run: {
    load: async () => {
      const { run, RUN_HELP } = await import("./run.ts");
      return { run, help: RUN_HELP };
    },
    summary: "runs the trials of a suite file",
    needs: (given) => [
      ...given("replay") ? [] : ["net" as const],
      "read",
      ...given("out", "record", "auto") ? ["write" as const] : [],
    ],
  },
  gate: {
    load: async () => {
      const { gate, GATE_HELP } = await import("./gate.ts");
      return { run: gate, help: GATE_HELP };
    },
    summary: "decides over the trials of journals",
    // It writes the job summary, where there is one.
    needs: () => ["read", "write"],
  },
  report: {
    load: async () => {
      const { report, REPORT_HELP } = await import("./report.ts");
      return { run: report, help: REPORT_HELP };
    },
    summary: "shows tables, figures and trials of journals",
    needs: (given) => ["read", ...given("html", "markdown", "json") ? ["write" as const] : []],
  },
  accept: {
    load: async () => {
      const { accept, ACCEPT_HELP } = await import("./accept.ts");
      return { run: accept, help: ACCEPT_HELP };
    },
    summary: "makes results a baseline",
    needs: () => ["read", "write"],
  },
  plan: {
    load: async () => {
      const { plan, PLAN_HELP } = await import("./plan.ts");
      return { run: plan, help: PLAN_HELP };
    },
    summary: "shows how many trials a gate needs",
    needs: () => ["read"],
  },
  selfcheck: {
    load: async () => {
      const { selfcheck, SELFCHECK_HELP } = await import("./selfcheck.ts");
      return { run: selfcheck, help: SELFCHECK_HELP };
    },
    summary: "checks how often the gate errs",
    // Journals are only read; a suite is run.
    needs: (given, arguments_) => [
      "read",
      ...given("out")
        ? ["net" as const, "write" as const]
        : arguments_.some((one) => one.endsWith(".jsonl"))
        ? []
        : ["net" as const],
    ],
  },
  perturb: {
    load: async () => {
      const { perturb, PERTURB_HELP } = await import("./perturb.ts");
      return { run: perturb, help: PERTURB_HELP };
    },
    summary: "shows what a perturbation changes",
    needs: (given) => [...given("writer") ? ["net" as const] : [], "read"],
  },
  score: {
    load: async () => {
      const { score, SCORE_HELP } = await import("./score.ts");
      return { run: score, help: SCORE_HELP };
    },
    summary: "scores predicted calls, and how stable outputs are",
    needs: () => ["read"],
  },
  export: {
    load: async () => {
      const { exportTrials, EXPORT_HELP } = await import("./export.ts");
      return { run: exportTrials, help: EXPORT_HELP };
    },
    summary: "writes conversations of journals to train models on",
    needs: (given) => ["read", ...given("out", "metadata") ? ["write" as const] : []],
  },
  simulate: {
    load: async () => {
      const { simulate, SIMULATE_HELP } = await import("./simulate.ts");
      return { run: simulate, help: SIMULATE_HELP };
    },
    summary: "serves simulated models over HTTP",
    needs: () => ["net", "read"],
  },
};

const HELP = `toolgate: tests of how well language models call tools

Usage: deno task toolgate COMMAND [OPTIONS]

${
  Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`).join(
    "\n",
  )
}

toolgate COMMAND --help lists a command's options.
Exit codes: 0 pass, 1 gate failed, 2 bad input, 3 undecided or invalid.`;

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
  const [name, ...rest] = arguments_;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    console.log(HELP);
    return name === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    const shownName = printable(redactRecord(name));
    console.error(`Cannot run toolgate: there is no command ${shownName}\n\n${HELP}`);
    return 2;
  }
  const command = COMMANDS[name]!;
  const { run, help } = await command.load();
  if (rest.includes("--help") || rest.includes("-h")) {
    console.log(help);
    return 0;
  }
  const hasOption = (...options: readonly string[]) => options.some((one) => isOption(rest, one));
  keepOnly(command.needs(hasOption, rest));
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
