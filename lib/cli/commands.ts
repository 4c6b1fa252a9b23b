/**
 * The table of commands.
 * @module
 */

import type { Command } from "./command.ts";

/** Loads a module, and takes a command from it. */
function of<Name extends string>(
  load: () => Promise<Readonly<Record<Name, Command>>>,
  name: Name,
): () => Promise<Command> {
  return async () => (await load())[name];
}

/** What each command does, by name, and what loads it, so that one command does not wait for the others. */
export const COMMANDS: Readonly<
  Record<string, readonly [summary: string, load: () => Promise<Command>]>
> = {
  init: ["sets up a project of your own", of(() => import("./init.ts"), "init")],
  graph: [
    "shows which ids a set of tools takes and returns",
    of(() => import("./graph.ts"), "graph"),
  ],
  generate: ["prints one task", of(() => import("./generate.ts"), "generate")],
  run: ["runs the trials of a suite file", of(() => import("./run.ts"), "run")],
  gate: ["decides over the trials of journals", of(() => import("./gate.ts"), "gate")],
  check: ["plays all trials of journals again", of(() => import("./check.ts"), "check")],
  report: [
    "shows tables, figures and trials of journals",
    of(() => import("./report.ts"), "report"),
  ],
  view: ["serves the report of journals to a browser", of(() => import("./view.ts"), "view")],
  accept: ["makes results a baseline, or a release", of(() => import("./accept.ts"), "accept")],
  "history add": ["adds a run to a history", of(() => import("./history.ts"), "addToHistory")],
  "history show": [
    "shows the runs of a history over time",
    of(() => import("./history.ts"), "showHistory"),
  ],
  canary: ["watches a history for drift", of(() => import("./canary.ts"), "canary")],
  plan: ["shows how many trials a gate needs", of(() => import("./plan.ts"), "plan")],
  selfcheck: ["checks how often the gate errs", of(() => import("./selfcheck.ts"), "selfcheck")],
  perturb: ["shows what a perturbation changes", of(() => import("./perturb.ts"), "perturb")],
  "score callnavi": [
    "compares predicted calls with the right ones",
    of(() => import("./score.ts"), "scoreCalls"),
  ],
  "score bfcl": [
    "scores answers to BFCL's questions as its checker does",
    of(() => import("./score_bfcl.ts"), "scoreBfcl"),
  ],
  "score stability": [
    "measures how similar the outputs of repeated runs are",
    of(() => import("./score.ts"), "scoreStability"),
  ],
  "score traces": [
    "judges recorded conversations by your own tool tests",
    of(() => import("./score_traces.ts"), "scoreTraces"),
  ],
  export: [
    "writes conversations of journals to train models on",
    of(() => import("./export.ts"), "exportTrials"),
  ],
  simulate: ["serves simulated models over HTTP", of(() => import("./simulate.ts"), "simulate")],
};
