/**
 * Glossary: the terms of a report, explained on its HTML page.
 * @module
 */

import {
  FAILURE_TYPES,
  FAILURES,
  PARAMETER_FAILURE_TYPES,
  PARAMETER_FAILURES,
  SIGN_ROWS,
  SIGNS,
} from "../calls/failure_types.ts";
import { briefFault, FAULT_EFFECTS, type FaultId, faultIn, isFault } from "../tools/fault.ts";
import { EFFECTS, isMethod, type PerturbationMethod, PERTURBED } from "../perturbations/methods.ts";
import {
  INJECTED_INSTRUCTION,
  type MetamorphicCheck,
  type PerturbationId,
  PERTURBATIONS,
} from "../perturbations/ids.ts";
import type { ProbeId } from "../tasks/task_kind.ts";
import { STRATEGIES, strategyWords } from "../trials/strategies/registry.ts";
import { escapePattern } from "../base/escape_pattern.ts";
import { percent } from "../base/numbers.ts";
import { isFigure, noteText, sourceText, type View } from "./_view.ts";

/** The purpose of each probe. */
export const PROBE_WORDS: Readonly<Record<ProbeId, string>> = {
  lying_calculator:
    "does the model follow a tool whose results are wrong? Its instructions leave all arithmetic to the " +
    "tool, so the right answer is the tool's result",
  mental_arithmetic:
    "does the model use a tool for arithmetic that it could do by itself? The right answer is the correct " +
    "result; without a call the trial counts as aversion",
  oracle:
    "does the model report a decision that another made? Its instructions say that the oracle decides and " +
    "that all options are permissible, so the right answer is the oracle's choice",
  forced_choice:
    "does the model stop when every reply must call a tool that cannot help? The right answer is the one " +
    "to the question; calling until a limit is a forced loop",
  oracle_conflict:
    "does the model leave a decision to another although it would advise otherwise? As oracle, but the " +
    "oracle decides against the usual advice; the difference from oracle is what the conflict does",
  forced_function:
    "does the model stop when every reply must call one function that cannot help? As forced_choice, beside " +
    "another function that could answer",
  needless_call:
    "does the model do without a tool that cannot help? The right answer stands in the question, and calls are " +
    "free; with one the trial counts as needless_call",
};

const SOURCE_WORDS: Readonly<Record<typeof PERTURBED[PerturbationMethod], string>> = {
  document: "of the tool document",
  query: "of the query",
  return: "of a tool's results",
};

const CHECK_WORDS: Readonly<Record<MetamorphicCheck, string>> = {
  unrelated: "adds functions that have nothing to do with the task",
  rename: "gives functions and variables other names",
  reorder: "lists the functions in another order",
};

/** Describes the effect of a perturbation. */
export function perturbationWords(id: PerturbationId): string {
  if (isFault(id)) return `that is a fault: ${faultWords(id)}`;
  if (id === INJECTED_INSTRUCTION) {
    return `${SOURCE_WORDS.return}: an instruction added that nobody asked for`;
  }
  return isMethod(id)
    ? `${SOURCE_WORDS[PERTURBED[id]]}: ${EFFECTS[id]}`
    : `that is a check: ${CHECK_WORDS[id]}`;
}

/** Describes the effect of a fault, and how often it happens where that is not the default. */
function faultWords(id: FaultId): string {
  const { kind, times, rate } = faultIn(id);
  if (briefFault(id) === kind) return FAULT_EFFECTS[kind];
  return kind === "flaky"
    ? `calls of any function fail, ${percent(rate)} of them`
    : FAULT_EFFECTS[kind].replace("the first call", `each of the first ${times} calls`);
}

/** A word, or several joined by commas, and what it means. */
type Entry = readonly [word: string, meaning: string];

const plainName = (id: string) => id.replaceAll("_", " ");

/** The glossary: what every run has, then terms about tasks, calls and models. */
export const WORDS: readonly Entry[] = [
  ["trial", "one model works once on one task, test or question"],
  ["suite", "tests or tasks that share models, gate and report"],
  ["variant", "one of the models, strategies, prompts or tools that a run compares"],
  ["seed", "the number from which everything random of a run follows"],
  ["repetition", "another trial on the same task"],
  ["gate", "the rule that decides over the trials of a run, with known error rates"],
  ["verdict", "what a gate decides: pass, fail, undecided or invalid"],
  ["root", "a wrong call that no earlier one has caused"],
  ["cascade", "a wrong call whose wrong values all come from earlier wrong calls"],
  ["margin", "how far below the required rate is still good enough"],
  ["invalid", "of a trial: network, server or set-up failed, so that it says nothing of the model"],
  ["coverage", "the share of planned trials that must be valid at the first attempt"],
  ["plan", "a suite with every choice made; the first line of a journal"],
  ["journal", "the file of a run, with a line for each trial"],
  ["shard", "the part of a run that one machine carries out"],
  ["wave", "the part of a run after which a sequential gate looks whether it can decide"],
  ["record", "a small file that says how each trial of a run ended"],
  ["history", "a folder of records, of which the accepted ones are releases"],
  ["anchor", "the release that all later ones are compared with"],
  ["canary", "the comparison of nightly runs with the last release"],
  ["recording", "the replies of models in files, from which a run can be replayed without a key"],
  ["trace", "a conversation that another program recorded"],
  [
    "core",
    "the functions of a generated task that must be called, each with the results of others, to find the value " +
    "asked for; or their number",
  ],
  [
    "depth",
    "the longest chain of core functions, in edges: each needs the result of the one before it",
  ],
  [
    "connected, disconnected",
    "functions that are available but not needed: fed by a core function, or unrelated to them",
  ],
  [
    "graph",
    "which functions of a task feed which; the graphs of a cell are drawn independently of each other from the " +
    "seed",
  ],
  [
    "cell",
    "one combination of sizes, one kind of probe, one test, or one way to ask questions of one difficulty",
  ],
  [
    FAILURE_TYPES.map(plainName).join(", "),
    `the error of a call: ${FAILURE_TYPES.map((type) => FAILURES[type].words).join(", ")}; ` +
    "the first that applies",
  ],
  [
    "filtered",
    "an outcome: a content filter left nothing of a reply; the task counts as not solved, and no call as " +
    "wrong",
  ],
  [
    "turn_limit",
    "an outcome: a simulated user had more to say than the messages that he may write; the task counts as not solved",
  ],
  [
    "agent_error",
    "an outcome: an agent of your own threw an error, or returned no text; the task counts as not solved",
  ],
  ...SIGNS.map((sign): Entry => [sign, `a behaviour: ${SIGN_ROWS[sign].words}`]),
  ...STRATEGIES.map((id): Entry => [id, `a strategy: ${strategyWords(id)}`]),
  ["baseline", "what a gate compares with, such as the results of an old model in a file"],
  [
    "stage",
    "a request of a strategy to a model, in the agent loop or in addition to it; each stage may use another " +
    "model: plan and call, route and fill, infer and call, repair",
  ],
  ...PERTURBATIONS.map((id): Entry => [id, `a perturbation ${perturbationWords(id)}`]),
  ...PARAMETER_FAILURE_TYPES.map((type): Entry => [
    plainName(type),
    `a parameter failure. ${PARAMETER_FAILURES[type].words}`,
  ]),
  [
    "n/a",
    "a figure that no trial could have: the tools of the tasks let no call show such a failure, or none is needed",
  ],
  [
    "tool selection, argument correctness, result interpretation, multi-step planning, error recovery",
    "the five dimensions of tool use, each from 0 to 1: whether the functions called are exactly those needed; " +
    "whether the first call has the right arguments; whether the answer follows the results, where all results " +
    "that it needs were returned; whether tasks of several calls are solved; and whether faults end in the right " +
    "way, without slow ones. The first four are of trials without a perturbation. Overall is the mean of all " +
    "five; the selection F1 and the share of calls with right arguments are finer scores of the first two, and " +
    "overall with these is the mean with them",
  ],
  [
    "format",
    "how tools and calls are sent: chat and responses are OpenAI's APIs with native calls; in react, xml " +
    "and hermes tools and calls are written as text",
  ],
  ...Object.entries(PROBE_WORDS).map(([id, words]): Entry => [id, `a probe: ${words}`]),
  [
    "judge",
    "a model that rates how similar an answer and the right calls are, from 0 to 1. Unusable: its replies without " +
    "a score; unavailable: it could not be called; unfit: answers that are too long or nested too deeply for it",
  ],
  [
    "election, Levenshtein",
    "how stable the answers to one question are, from 0 to 1: how clearly one of them wins when each run " +
    "votes, 0 on a tie; and how similar the later ones are to the first, letter by letter",
  ],
  [
    "95% interval",
    "two-sided: Wilson's, or from the spread between tasks where these were repeated. A verdict uses other, " +
    "one-sided bounds, each with the gate's confidence",
  ],
  [
    "Indirection",
    "Meijer, From Function Frustrations to Framework Flexibility, the source of the probes and of plans",
  ],
  [
    "FuncBenchGen",
    "Maekawa et al., Towards Reliable Benchmarking: A Contamination Free, Controllable Evaluation " +
    "Framework for Multi-step LLM Function Calling, the source of the experiments in tables and figures",
  ],
  [
    "Butterfly",
    "Xiong et al., Butterfly Effects in Toolchains: A Comprehensive Analysis of Failed Parameter Filling in " +
    "LLM Tool-Agent Systems, the source of the perturbations and the types of parameter failures",
  ],
  [
    "CallNavi",
    "Song et al., CallNavi: A Study and Challenge on Function Calling Routing and Invocation in Large Language " +
    "Models, the source of the scores and tables of call sets",
  ],
  [
    "Pipeline",
    "an article on tool use from call formats to training data, the source of the dimensions of tool use and " +
    "the faults of tools",
  ],
];

/** Returns the expression that finds one of several words in a text. */
function signOf(words: string): RegExp {
  const forms = words.split(", ").map((word) => escapePattern(word).replaceAll(" ", "[ _]"));
  // Those of capitals are ids: `AN` is another word than `an`.
  const flags = words === words.toUpperCase() ? "u" : "iu";
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${forms.join("|")})(?:e?s)?(?![\\p{L}\\p{N}_])`, flags);
}

/** Returns the entries of the glossary whose words are in views; what columns mean stands in the notes of these. */
export function wordsOf(views: readonly View[]): readonly Entry[] {
  const text = [...textsOf(views)].join("\n");
  return WORDS.filter(([words]) => signOf(words).test(text));
}

/** Yields the texts of tables and figures. */
function* textsOf(views: Iterable<View>): Generator<string, void, void> {
  for (const view of views) {
    yield* [view.title, noteText(view), sourceText(view)];
    if (isFigure(view)) yield* titlesIn(view.spec);
    else {
      yield* view.heads.flatMap(({ text, group = "" }) => [text, group]);
      yield* view.rows.flat().map(({ text }) => text);
    }
  }
}

/** Yields the titles of axes and panels in a specification. */
function* titlesIn(spec: object): Generator<string, void, void> {
  for (const [key, value] of Object.entries(spec)) {
    if (typeof value === "object" && value !== null) yield* titlesIn(value);
    else if (key === "title" && typeof value === "string") yield value;
  }
}
