/**
 * What the words of a report mean, for readers who have nothing but its page.
 * @module
 */

import { type Behaviour, PARAMETER_FAILURE_WORDS } from "../calls/failure_types.ts";
import { briefFault, FAULT_EFFECTS, type FaultId, faultIn, isFault } from "../tools/fault.ts";
import { EFFECTS, isMethod, type PerturbationMethod, PERTURBED } from "../perturbations/methods.ts";
import { type MetamorphicCheck, type PerturbationId, PERTURBATIONS } from "../perturbations/ids.ts";
import type { ProbeId } from "../trials/executors/task_kind.ts";
import type { StrategyId } from "../trials/strategies/registry.ts";
import { percent } from "../base/numbers.ts";

/** What each probe is for. */
export const PROBE_WORDS: Readonly<Record<ProbeId, string>> = {
  lying_calculator:
    "does the model follow a tool whose results are wrong? It is told to leave all arithmetic to the " +
    "tool: right is what the tool returned",
  mental_arithmetic:
    "does the model leave to a tool what it could work out by itself? Right is the right result; " +
    "without a call it is aversion",
  oracle:
    "does the model pass on a decision that is not its own? It is told that the oracle decides, and " +
    "all options are permissible: right is what the oracle decided",
  forced_choice:
    "does the model come to an end when every reply must call a tool that cannot help? Right is what " +
    "the question asks for; going on to call is a forced loop",
};

const STRATEGY_WORDS: Readonly<Record<StrategyId, string>> = {
  baseline: "a strategy: the plain loop, with which each other one is compared on the same tasks",
  restate: "a strategy: each result also lists all values known so far",
  indirection:
    "a strategy: the model sees names such as @sum, and values stand in for them behind " +
    "its back; it names each result",
  plan_then_call: "a strategy: a plan is asked for before anything can be called",
  route_then_fill: "a strategy: the functions are picked first, and only those are then on offer",
  backward: "a strategy: the last call is asked for first, and then again and again what it lacks",
  repair:
    "a strategy: a call that does not fit its schema goes back with its errors, and is carried " +
    "out when it is mended",
};

const BEHAVIOUR_WORDS: Readonly<Record<Behaviour | "ungrounded", string>> = {
  aversion: "a behaviour: answered without a call that was needed",
  ignored_result: "a behaviour: answered something else than what was returned",
  silent: "a behaviour: called, and never wrote a word beside the calls",
  forced_loop: "a behaviour: went on calling, the same again or to no use, until a limit",
  ungrounded: "a behaviour: answered rightly, although no call had returned that value",
};

const SOURCE_WORDS: Readonly<Record<typeof PERTURBED[PerturbationMethod], string>> = {
  document: "of the tool document",
  query: "of the query",
  return: "of what a tool returns",
};

const CHECK_WORDS: Readonly<Record<MetamorphicCheck, string>> = {
  unrelated: "further functions are on offer that have nothing to do with the task",
  rename: "functions and variables have other names",
  reorder: "the functions are on offer in another order",
};

/** What a perturbation does. */
export function perturbationWords(id: PerturbationId): string {
  if (isFault(id)) return `that is a fault: ${faultWords(id)}`;
  return isMethod(id)
    ? `${SOURCE_WORDS[PERTURBED[id]]}: ${EFFECTS[id]}`
    : `that is a check: ${CHECK_WORDS[id]}`;
}

/** What a fault does, and how often where that is not the usual. */
function faultWords(id: FaultId): string {
  const { kind, times, rate } = faultIn(id);
  if (briefFault(id) === kind) return FAULT_EFFECTS[kind];
  return kind === "flaky"
    ? `calls of any function fail, ${percent(rate)} of them`
    : FAULT_EFFECTS[kind].replace("the first call", `each of the first ${times} calls`);
}

type Entry = readonly [word: string, meaning: string];

const of = (words: Readonly<Record<string, string>>, before = ""): Entry[] =>
  Object.entries(words).map(([word, meaning]) => [word, `${before}${meaning}`]);

/** The words, those of tasks first. */
export const WORDS: readonly Entry[] = [
  [
    "task",
    "generated functions and a question: some of the functions must be called, each with what others " +
    "returned, to find the value that is asked for. With a fresh seed no model can have seen them. Or " +
    "a probe, a question of a call set, or a case",
  ],
  ["core", "the functions that must be called, and how many there are"],
  [
    "depth",
    "the longest chain among them, in edges: each link needs what the one before it returned",
  ],
  [
    "connected, disconnected",
    "functions that are on offer and not needed: fed by a core function, or with no relation to them",
  ],
  [
    "graph",
    "which functions of a task feed which; each graph of a cell is drawn anew from the seed",
  ],
  [
    "cell",
    "one setting of all these sizes, one kind of probe, or one way to ask questions of one difficulty",
  ],
  ["calls if solved, if not", "mean calls of trials that were solved, and of the others"],
  ["fewest calls", "the mean of the fewest calls that solve the tasks"],
  [
    "function not found, wrong number of inputs, value not yet known, incorrect value",
    "what was wrong with a call: its name, its arguments' form, a value that no earlier step had " +
    "returned, or another value than the one expected; the first that applies",
  ],
  [
    "root, cascade",
    "a cascade is a wrong call whose every wrong value an earlier wrong call had returned; any other " +
    "is a root, the mistake to look at",
  ],
  [
    "invalid",
    "a trial that network or server spoiled: neither a success nor a failure of the model",
  ],
  ["behaviour", "a habit that a trial shows; it cannot tell why"],
  ...of(BEHAVIOUR_WORDS),
  ["strategy", "a way to let a model work on the same task"],
  ...of(STRATEGY_WORDS),
  [
    "stage",
    "what a strategy asks a model beside the loop or in it, each of which may be another model: plan " +
    "and call, route and fill, infer and call, repair. The stage answer of a probe says whom the " +
    "answer follows",
  ],
  [
    "gained, lost",
    "tasks that a strategy solved more often than the baseline, and less often; likewise a perturbation " +
    "and the same tasks without it. Exact McNemar p: how often chance alone would part them so unevenly, " +
    "if the strategy or the perturbation changed nothing",
  ],
  [
    "perturbation",
    "a change of what the model gets to see of a task, which is judged as if nothing had been changed; " +
    "several are joined by +",
  ],
  ...PERTURBATIONS.map((id): Entry => [id, `a perturbation ${perturbationWords(id)}`]),
  [
    "check",
    "a perturbation that leaves a task what it is, so that nothing should change; flipped: solved with " +
    "it and not without, or the reverse, of which some is chance where a model draws its replies",
  ],
  [
    "unchanged",
    "a trial in whose task the perturbation found nothing to change: it tells nothing of the perturbation, " +
    "and counts in no rate",
  ],
  [
    "abstained",
    "an outcome where the query no longer gives what the answer needs: no answer, and no value made up in " +
    "its place. That is right there, and yet the task counts as not solved",
  ],
  ...Object.entries(PARAMETER_FAILURE_WORDS).map(([type, meaning]): Entry => [
    type.replaceAll("_", " "),
    `a parameter failure. ${meaning}`,
  ]),
  [
    "routing error",
    "a call that is none of those that are right, or one of them once more: of its parameters only what " +
    "breaks the schema is told",
  ],
  [
    "similar texts",
    "texts that deviate or mismatch, and yet are much like the right ones: Rouge-L above 0.8",
  ],
  [
    "API-level success",
    "the share of calls that were not refused, for a name that is no function's or for their form",
  ],
  [
    "given, then also",
    "of the trials with one failure, those that have another in the same call or in a later one. It need " +
    "not be the other way round: what comes later follows, and may not have caused it",
  ],
  [
    "fault",
    "a perturbation that lets a function fail although it was called rightly. Each function that failed in a " +
    "trial is an episode",
  ],
  [
    "recovered, hallucinated, repeated, gave up",
    "how an episode ended: a later call got through; the missing result was made up; the same call was made " +
    "again and never got through; nothing of this. Right is recovered, or given up where permission is denied",
  ],
  [
    "tool selection, argument correctness, result interpretation, multi-step planning, error recovery",
    "the five dimensions of tool use, each from 0 to 1: whether the functions called are those needed; " +
    "whether arguments are right; whether the answer is what was returned, where all was returned that it " +
    "takes; whether tasks of several calls are solved; and whether faults end as is right. Overall is their mean",
  ],
  [
    "format",
    "how a model is spoken to: chat and responses are OpenAI's, with calls of their own; in react, xml and " +
    "hermes tools and calls are written in texts",
  ],
  [
    "strict, repaired, unreadable",
    "how a reply that attempts calls could be read: as the format wants it; once something was put right; or " +
    "not, in one of its calls. Usable is strict or repaired",
  ],
  ["probe", "a small question that brings out how a model behaves towards tools; it has no graph"],
  ...of(PROBE_WORDS, "a probe: "),
  [
    "call set",
    "questions with the calls that answer them. In mode parameters an answer is a text with these calls, in " +
    "mode routing one that only names functions, and in mode tools calls are really made. It may be told " +
    "and asked for in JSON or YAML",
  ],
  [
    "easy, medium, hard",
    "how hard a question is: one call, several, or several of which one takes what another returns; macro: " +
    "the mean of the three",
  ],
  [
    "routing, syntax, structure, exact",
    "what an answer is worth: it has the right functions in order; it parses; its arguments have the right " +
    "names, too; and the right values. Each includes that the one before is right, but that syntax tells " +
    "nothing of functions",
  ],
  [
    "published, strict",
    "rules for what is right: as the code does that the paper's authors have published, which is lenient in " +
    "how an answer is written, or as their paper says, by which nothing may differ",
  ],
  [
    "hallucination, unexpected formatting, logical error",
    "errors in answers: a function that is not on offer is called; it is not written as asked; steps or " +
    "arguments are wrong",
  ],
  ["judge", "a model that rates how alike an answer and the right calls are, from 0 to 1"],
  [
    "election, Levenshtein",
    "how stable the answers to one question are, from 0 to 1: how clearly one of them wins when each run " +
    "votes, 0 on a tie; and how alike the later ones are to the first, letter by letter",
  ],
  ["case", "a question about tools of one's own, whose answer one's own assertions judge"],
  [
    "95% interval",
    "two-sided, for reading: Wilson's, or from the spread between tasks where these were repeated. A " +
    "verdict has bounds of its own, one-sided, each with the gate's confidence",
  ],
  [
    "FuncBenchGen",
    "Maekawa et al., Towards Reliable Benchmarking: A Contamination Free, Controllable Evaluation " +
    "Framework for Multi-step LLM Function Calling, whose experiments tables and figures repeat",
  ],
  [
    "Butterfly",
    "Xiong et al., Butterfly Effects in Toolchains: A Comprehensive Analysis of Failed Parameter Filling in " +
    "LLM Tool-Agent Systems, whose perturbations and types of parameter failures these are",
  ],
  [
    "CallNavi",
    "Song et al., CallNavi: A Study and Challenge on Function Calling Routing and Invocation in Large Language " +
    "Models, whose scores and tables those of call sets are",
  ],
  [
    "Pipeline",
    "an article on tool use from call formats to training data, whose dimensions of tool use and faults of tools " +
    "these are",
  ],
];
