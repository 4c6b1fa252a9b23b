/**
 * Runs again: runs one trial of a plan by itself.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../base/input.ts";
import { commandLine, isOwnPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { shellQuote } from "../base/shell_quote.ts";
import type { Plan } from "./plan.ts";
import { PLAN_RULE, readPlanLine } from "./journal/journal.ts";
import { type PlanLine, planOfLine } from "./journal/plan_line.ts";
import { providerOf } from "../models/providers.ts";
import { MODEL, type ModelEntry, modelName } from "../models/entry.ts";
import { type Connections, NO_KEY } from "../models/connect.ts";
import { isOpenAI } from "../models/http/endpoint.ts";
import type { Model } from "../models/model.ts";
import { JUDGE } from "./suite.ts";
import { withCallSets } from "./question_tasks.ts";
import { STRATEGY, STRATEGY_ID, strategyName } from "../trials/strategies/entry.ts";
import { GENERATOR_VERSION, generatorText } from "../tasks/graphs/task.ts";
import { parseTrialId, type PlannedTrial, trialId } from "../trials/trial_id.ts";

/**
 * Returns the trial of `plan` with the given id. If the plan has other tasks, such as those of another seed,
 * the task is taken from the id, unless it is `strict`; model, strategy and perturbation must be the
 * plan's.
 *
 * @throws {InputError} If it is no trial id, or not one of this plan.
 */
export function trialToRerun(plan: Plan, id: string, { strict = false } = {}): PlannedTrial {
  const key = parseTrialId(id);
  if (key === undefined) {
    throw cannot(
      "run a trial again",
      "its id must be one that journals have, from core=, set= or case= to repetition=",
      `it is ${id}`,
    );
  }
  const { models, strategies, perturbations, variants } = plan.resolved;
  const allowed = {
    model: models.map(modelName),
    strategy: strategies.map(strategyName),
    perturbation: perturbations,
    variant: Object.keys(variants ?? {}),
  };
  for (const [field, names] of Object.entries(allowed) as [keyof typeof allowed, string[]][]) {
    const name = key[field];
    if (name === undefined ? names.length === 0 : names.includes(name)) continue;
    throw cannot(
      "run a trial again",
      `its ${field} must be one of ${plan.suite}`,
      `it is ${name ?? "left out"}, and there are ${names.join(", ") || "none"}`,
    );
  }
  const canonicalId = trialId(key);
  const planned = plan.trials.find((trial) => trial.id === canonicalId);
  if (planned === undefined && strict) {
    throw cannot("run a trial again", "it must be one of the journal's plan", `it is ${id}`);
  }
  return planned ?? { ...key, id: canonicalId, index: 0, block: 0 };
}

/** The schema of a plan whose models can be asked, not only read about. */
const RUNNABLE = z.looseObject({
  models: z.array(MODEL),
  strategies: z.array(z.union([STRATEGY_ID, STRATEGY])),
  judge: JUDGE.exactOptional(),
});

/**
 * Reads the plan of a journal from its first line, with all that determines a trial, and loads its call sets.
 *
 * @throws {InputError} If the journal cannot be read, its plan is invalid or was changed, or a call set was
 * moved or changed.
 */
export function planOfJournal(path: string): Plan {
  const line = readPlanLine(path);
  if (line === undefined) {
    throw cannot(`run a trial of ${path}`, PLAN_RULE, "it is empty");
  }
  const { generator } = line.resolved;
  if (generator !== GENERATOR_VERSION) {
    throw cannot(
      `run a trial of ${path}`,
      `its tasks must be of generator ${GENERATOR_VERSION}`,
      `they are ${generatorText(generator)}`,
    );
  }
  if (line.ownCode) {
    throw cannot(
      `run a trial of ${path}`,
      "only the file of its benchmark has its model or agent",
      `run  deno test -A --no-check ${shellQuote(testFileOf(line) ?? "FILE")} -- --only=ID`,
    );
  }
  const { agent } = line.resolved;
  if (agent !== undefined) {
    throw cannot(
      `run a trial of ${path}`,
      "no program that only a journal names is run",
      `it names ${printable(agent.command.join(" "), 100)}; run the trial from its suite: ` +
        commandLine("run SUITE.jsonc --only ID"),
    );
  }
  parseWith(RUNNABLE, line.resolved, `the plan of ${path}`);
  const plan = planOfLine(line);
  if (plan !== undefined) return withCallSets(plan);
  throw cannot(
    `run a trial of ${path}`,
    "its plan must list its trials",
    "it does not: it was changed, or made by another version",
  );
}

/**
 * Returns the test file of a journal, from the folder where the user stands, for a command line; `undefined` if
 * there is none. Anyone may have written the journal, so that it may name a test of this folder and nothing else.
 */
export function testFileOf({ file }: Pick<PlanLine, "file">): string | undefined {
  return file !== undefined && isOwnPath(file) && /\.[cm]?[jt]sx?$/.test(file) ? file : undefined;
}

/**
 * Returns the command that runs a trial of a journal again.
 */
export function rerunLine(plan: PlanLine, journal: string, id: string): string {
  if (plan.ownCode) {
    const file = shellQuote(testFileOf(plan) ?? "YOUR_BENCHMARK.ts");
    return `deno test -A --no-check ${file} -- --only=${shellQuote(id)}`;
  }
  // A journal starts no program.
  const path = plan.resolved.agent === undefined ? shellQuote(journal) : "SUITE.jsonc";
  return commandLine(`run ${path} --only ${shellQuote(id)}`);
}

/** How models of a journal's plan are connected. */
export interface JournalServers {
  /** The journal. */
  readonly path: string;
  /** The server that its plan names for models without one of their own. */
  readonly planned: string | undefined;
  /** The server that the user names, in place of all those that the plan names. */
  readonly named: string | undefined;
  /** Says what the user should know. */
  readonly note: (line: string) => void;
}

/**
 * Connects a model of a journal's plan. Anyone may have written the journal, so that a key goes only to OpenAI, to
 * the provider whose key it is, and to the server that the user names. A server on this machine is asked without a key, and any other one that only
 * the journal names is not asked at all. No variable that a journal names is read.
 *
 * @throws {InputError} If the plan names another server or variable, or the model cannot be connected.
 */
export function connectPlanned(
  { apiKeyVariable, baseURL: own, ...entry }: ModelEntry,
  connections: Connections,
  { path, planned, named, note }: JournalServers,
): Model {
  if (entry.model.startsWith("sim:") && (own === undefined || named !== undefined)) {
    return connections.model(entry);
  }
  const { provider } = entry;
  // Providers have servers of their own, which no other model is asked at.
  const address = named === undefined
    ? own ?? (provider === undefined ? planned : undefined)
    : undefined;
  const model = printable(modelName(entry));
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  // Nobody can listen to what is sent to OpenAI by https.
  const isSafe = provider === undefined && url?.protocol === "https:" && isOpenAI(url);
  if (url !== undefined && !isSafe) {
    const advice = `add --base-url=${shellQuote(url.href)}`;
    if (!isLoopback(url)) {
      throw cannot(
        `run a trial of ${path}`,
        "a server that only a journal names is sent neither questions nor keys",
        `it names ${url.host} for ${model}; if you trust this server, ${advice}`,
      );
    }
    const what =
      `No key is sent to ${url.host}, which only the journal names: to send it, ${advice}`;
    note(printable(what, 1_000));
    return connections.model({ ...entry, baseURL: address! }, NO_KEY);
  }
  const usual = provider === undefined ? "OPENAI_API_KEY" : providerOf(provider)!.key;
  if (apiKeyVariable !== undefined && apiKeyVariable !== usual) {
    throw cannot(
      `run a trial of ${path}`,
      "no variable that only a journal names is read for a key",
      `it names ${apiKeyVariable} for ${model}; run the trial from its suite: ` +
        commandLine("run SUITE.jsonc --only ID"),
    );
  }
  // The address that the user names stands for one that the plan names, and for no server of a provider.
  const server = provider !== undefined && own !== undefined ? named : address;
  return connections.model({ ...entry, baseURL: server });
}

/** Whether an address is on this machine. */
function isLoopback({ hostname }: URL): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
