/**
 * The table of commands.
 * @module
 */

import type { Command } from "./command.ts";

/** What each command does, by name, and what loads it, so that one command does not wait for the others. */
export const COMMANDS: Readonly<
  Record<string, readonly [summary: string, load: () => Promise<Command>]>
> = {
  init: ["sets up a project of your own", async () => (await import("./init.ts")).init],
  generate: ["prints one task", async () => (await import("./generate.ts")).generate],
  run: ["runs the trials of a suite file", async () => (await import("./run.ts")).run],
  gate: ["decides over the trials of journals", async () => (await import("./gate.ts")).gate],
  check: [
    "plays all trials of journals again",
    async () => (await import("./check.ts")).check,
  ],
  report: [
    "shows tables, figures and trials of journals",
    async () => (await import("./report.ts")).report,
  ],
  view: [
    "serves the report of journals to a browser",
    async () => (await import("./view.ts")).view,
  ],
  accept: [
    "makes results a baseline, or a release",
    async () => (await import("./accept.ts")).accept,
  ],
  "history add": [
    "keeps what a run came to",
    async () => (await import("./history.ts")).addToHistory,
  ],
  "history show": [
    "shows what runs came to over time",
    async () => (await import("./history.ts")).showHistory,
  ],
  canary: ["watches a history for drift", async () => (await import("./canary.ts")).canary],
  plan: ["shows how many trials a gate needs", async () => (await import("./plan.ts")).plan],
  selfcheck: [
    "checks how often the gate errs",
    async () => (await import("./selfcheck.ts")).selfcheck,
  ],
  perturb: [
    "shows what a perturbation changes",
    async () => (await import("./perturb.ts")).perturb,
  ],
  "score callnavi": [
    "compares predicted calls with the right ones",
    async () => (await import("./score.ts")).scoreCalls,
  ],
  "score stability": [
    "measures how similar the outputs of repeated runs are",
    async () => (await import("./score.ts")).scoreStability,
  ],
  "score traces": [
    "judges recorded conversations by your own tool tests",
    async () => (await import("./score_traces.ts")).scoreTraces,
  ],
  export: [
    "writes conversations of journals to train models on",
    async () => (await import("./export.ts")).exportTrials,
  ],
  simulate: [
    "serves simulated models over HTTP",
    async () => (await import("./simulate.ts")).simulate,
  ],
};
