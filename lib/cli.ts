/**
 * The command line: `deno task toolgate COMMAND`.
 *
 * Exit codes: 0 pass, 1 gate failed, 2 bad input, 3 undecided or invalid.
 * @module
 */

import { accept, ACCEPT_HELP } from "./commands/accept.ts";
import { EXPORT_HELP, exportTrials } from "./commands/export.ts";
import { gate, GATE_HELP } from "./commands/gate.ts";
import { generate, GENERATE_HELP } from "./commands/generate.ts";
import { perturb, PERTURB_HELP } from "./commands/perturb.ts";
import { plan, PLAN_HELP } from "./commands/plan.ts";
import { report, REPORT_HELP } from "./commands/report.ts";
import { run, RUN_HELP } from "./commands/run.ts";
import { score, SCORE_HELP } from "./commands/score.ts";
import { selfcheck, SELFCHECK_HELP } from "./commands/selfcheck.ts";
import { simulate, SIMULATE_HELP } from "./commands/simulate.ts";
import { InputError } from "./input.ts";

interface Command {
  readonly run: (arguments_: readonly string[]) => number | Promise<number>;
  readonly summary: string;
  readonly help: string;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  generate: { run: generate, summary: "prints one task", help: GENERATE_HELP },
  run: { run, summary: "runs the trials of a suite file", help: RUN_HELP },
  gate: { run: gate, summary: "decides over the trials of journals", help: GATE_HELP },
  report: {
    run: report,
    summary: "shows tables, figures and trials of journals",
    help: REPORT_HELP,
  },
  accept: { run: accept, summary: "makes results a baseline", help: ACCEPT_HELP },
  plan: { run: plan, summary: "tells how many trials a gate needs", help: PLAN_HELP },
  selfcheck: { run: selfcheck, summary: "tells how often the gate errs", help: SELFCHECK_HELP },
  perturb: { run: perturb, summary: "shows what a perturbation changes", help: PERTURB_HELP },
  score: {
    run: score,
    summary: "scores predicted calls, and how stable outputs are",
    help: SCORE_HELP,
  },
  export: {
    run: exportTrials,
    summary: "writes conversations of journals to train models on",
    help: EXPORT_HELP,
  },
  simulate: { run: simulate, summary: "serves simulated models over HTTP", help: SIMULATE_HELP },
};

const HELP = `toolgate: tests of how well language models call tools

Usage: deno task toolgate COMMAND [OPTIONS]

${
  Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`).join(
    "\n",
  )
}

toolgate COMMAND --help tells a command's options.
Exit codes: 0 pass, 1 gate failed, 2 bad input, 3 undecided or invalid.`;

/** Carries out one command and gives its exit code; bad input is told on stderr. */
export async function main(arguments_: readonly string[]): Promise<number> {
  const [name, ...rest] = arguments_;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    console.log(HELP);
    return name === undefined ? 2 : 0;
  }
  if (!Object.hasOwn(COMMANDS, name)) {
    console.error(`Cannot run toolgate: there is no command ${name}\n\n${HELP}`);
    return 2;
  }
  const command = COMMANDS[name]!;
  if (rest.includes("--help") || rest.includes("-h")) {
    console.log(command.help);
    return 0;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    console.error(error.message);
    return 2;
  }
}

if (import.meta.main) {
  // An error of ours is no verdict: it must not look like a gate that failed.
  const code = await main(Deno.args).catch((error) => {
    console.error(error);
    return 3;
  });
  Deno.exit(code);
}
