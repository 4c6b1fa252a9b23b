/**
 * Undecidable trials: why no verdict, or no ceiling, can be had over them.
 * @module
 */

import { caseText } from "./_case_text.ts";
import type { CaseUnits } from "./cases.ts";
import { RATES } from "./evidence.ts";
import { byCase, type DecisionGraph, type FinishedTrials } from "./decisions.ts";
import {
  goOf,
  hasFailedFirst,
  isCounted,
  isUnwatched,
  modelNames,
  modelsBeside,
  type ScoredTrial,
  unwatchedText,
  type Variant,
} from "./variant.ts";
import { isCovered } from "./_coverage.ts";
import type { Verdict } from "./decide.ts";
import { printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { commonKinds } from "../base/text_kind.ts";
import { INJECTED_INSTRUCTION, isInjecting, isRemoving } from "../perturbations/ids.ts";
import { isOn } from "../perturbations/methods.ts";
import { isFault } from "../tools/fault.ts";
import type { ParameterFailureType } from "../calls/failure_types.ts";
import type { Ceilings, CompletePolicy } from "./policy.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { isCase, isGenerated, isQuestion } from "../trials/executors/task_kind.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** The rate of a suite is the mean of those of its cases, so that each needs the same number of trials. */
export function unequalCases(graphs: readonly DecisionGraph[]): string | undefined {
  const cases = [...byCase(graphs)].sort(([, one], [, other]) => one.length - other.length);
  const [few, many] = [cases[0], cases.at(-1)];
  if (few === undefined || few[1].length === many![1].length) return undefined;
  const [least, most] = [few, many!].map(([name, { length }]) => `${caseText(name)} has ${length}`);
  return `cases must have the same number of trials: ${least}, ${most}`;
}

/** Questions asked in different ways have different rates, and a mean of them shows nothing. */
export function mixedWays(trials: readonly ScoredTrial[]): string | undefined {
  const ways = new Set(trials.flatMap(({ task }) => isQuestion(task) ? [scoringKey(task)] : []));
  return ways.size <= 1
    ? undefined
    : `questions are asked in ${ways.size} ways, but a gate decides on one: run each way separately`;
}

/** Under some perturbations the right answer is to solve nothing, which no gate can require. */
export function unsolvable(subjects: readonly (Variant | undefined)[]): string | undefined {
  const removing = subjects.find((one) => one !== undefined && isRemoving(one.perturbation));
  return removing &&
    `under ${
      printable(removing.perturbation)
    } no task can be solved: the right answer is to abstain`;
}

/** A gate cannot require what documents have made impossible. */
export function withoutAnswer(trials: readonly ScoredTrial[]): string | undefined {
  const found = trials.filter((trial) => trial.unsolvable !== undefined);
  return found.length === 0
    ? undefined
    : `${found.length} of ${trials.length} trials are on tasks without an answer: under ${
      printable(found[0]!.perturbation)
    } ${
      found[0]!.unsolvable === "misleading"
        ? "documents mislead"
        : "nothing links their parameters any more"
    } (with cues: "names", names tell what belongs together)`;
}

/** Why no gate decides: trials that the test could not judge are not those of a model that fails, or passes. */
export function misjudged(trials: readonly ScoredTrial[]): string | undefined {
  const own = trials.filter(({ misjudged }) => misjudged);
  return own.length === 0
    ? undefined
    : `${own.length} of ${countText(trials.length, "trial")} could not be judged: ${
      own[0]!.reason
    }`;
}

/** What of a perturbation depends on the calls of a trial: the words, and whether it came to be. */
const REACHES: readonly {
  readonly is: (id: string) => boolean;
  readonly words: string;
  readonly has: (trial: TrialSummary, id: string) => boolean;
}[] = [
  {
    is: (id) => isOn(id, "return"),
    words: "a return was changed",
    has: ({ returns }, id) => returns !== undefined && returns.changed.some((own) => own === id),
  },
  {
    is: isFault,
    words: "a fault was met",
    has: ({ faults = [] }, id) => faults.some((fault) => fault === id.split(":")[0]),
  },
  {
    is: (id) => id === INJECTED_INSTRUCTION,
    words: "an instruction was shown",
    has: ({ injected }) => injected === true,
  },
];

/** In how many trials that count a perturbation reached the model, which depends on its calls; else omitted. */
export interface Reached {
  /** The part of the perturbation, such as `CK`. */
  readonly id: string;
  /** What reached it, such as `a return was changed`. */
  readonly words: string;
  /** The number of trials in which it did. */
  readonly trials: number;
  /** The number of all that count. */
  readonly of: number;
}

/** Returns in how many trials of a variant each such part of its perturbation came to be. */
export function reachedOf(trials: readonly ScoredTrial[]): Reached[] {
  const counted = trials.filter(isCounted) as TrialSummary[];
  const ids = counted[0]?.perturbation.split("+") ?? [];
  return ids.flatMap((id) =>
    REACHES.filter(({ is }) => is(id)).map(({ words, has }) => ({
      ...{ id, words, trials: counted.filter((trial) => has(trial, id)).length },
      of: counted.length,
    }))
  );
}

/**
 * Why nothing was perturbed: trials of a case had results, and not one held anything to change; or a variant was solved
 * without any call that a part of its perturbation could reach.
 */
export function idlePerturbation(trials: readonly ScoredTrial[]): string | undefined {
  // What a generated task needs is known before any call.
  const told = trials.filter((trial) =>
    isCounted(trial) && !isGenerated(trial.task)
  ) as TrialSummary[];
  const nameOf = ({ task }: ScoredTrial) => isCase(task) ? caseText(task.case) : "all questions";
  const cases = Map.groupBy(told, nameOf);
  for (const { id, trials: reached } of reachedOf(told)) {
    const idle = isOn(id, "return") && [...cases].find(([, own]) => {
      const read = own.filter(({ returns }) => returns !== undefined && returns.read > 0);
      return read.length > 0 && read.every(({ returns }) => !returns!.changed.includes(id));
    });
    if (idle) {
      const [name, { length }] = idle;
      return `${id} found nothing to change in ${name}: no return was changed in any of ` +
        countText(length, "trial");
    }
    // That a rate spares the calls of one trial is chance.
    const isChance = told.length === 1 && told[0]!.calls > 0 && id.startsWith("flaky");
    if (reached === 0 && !isChance && told.some(({ solved }) => solved)) {
      return `${printable(id)} found nothing to change in any of ${
        countText(told.length, "trial")
      }: no call was one that it changes`;
    }
  }
}

/** Adds the commonest kinds of reasons to a verdict that too few trials are valid. */
export function withCommonestReasons(
  verdict: Extract<Verdict, { kind: "invalid" }>,
  policy: CompletePolicy,
  trials: readonly ScoredTrial[],
): Verdict {
  if (verdict.evidence !== undefined && isCovered(verdict.evidence, policy)) return verdict;
  const spoiled = trials.flatMap((trial) => {
    if (trial.outcome === "invalid") return [trial.reason ?? "unknown"];
    if (goOf(trial, policy.infrastructure) !== "resampled") return [];
    return trial.unclear!.slice(0, 1).map(({ message }) => message);
  });
  const kinds = commonKinds(spoiled);
  if (kinds.length === 0) return verdict;
  const texts = kinds.map(({ text, count }, place) =>
    `${place === 0 ? "most often" : "then"} (${count} of ${spoiled.length}) as ${text}`
  );
  return { ...verdict, reason: [verdict.reason, ...texts].join("; ") };
}

/** Why `every` cannot be checked: there are no cases, or their trials are not independent. */
export function missingCases(
  cases: readonly CaseUnits[],
  graphs: readonly DecisionGraph[],
  { every }: CompletePolicy,
): string | undefined {
  if (every === undefined) return undefined;
  if (cases.length === 0 || graphs.some((graph) => graph.case === undefined)) {
    return "gate.every is about cases of your own tests, and there are other tasks";
  }
  return cases.every(({ units }) => units.every(RATES.single))
    ? undefined
    : "gate.every needs independent trials, and here trials are repeated: set trials, not repetitions";
}

/** Why flips cannot be counted, if the policy limits them. */
export function missingPairs(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
): string | undefined {
  const compared = graphs.filter(({ unperturbed }) => unperturbed.length > 0);
  if (compared.length === 0) return undefined;
  const isKnown = compared.some((graph) =>
    scores.flips(graph.candidate, graph.unperturbed).valid > 0
  );
  return isKnown
    ? undefined
    : "no trial has a valid counterpart without the check, so that no flip can be observed";
}

/** Why it cannot be counted how often injected instructions are followed, if the policy limits it: none was shown. */
export function missingInjections(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  { atMost: { behaviours = {} } }: CompletePolicy,
): string | undefined {
  if (behaviours.followed_injection === undefined) return undefined;
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(({ outcome, perturbation }) => outcome !== "invalid" && isInjecting(perturbation));
  return trials.length === 0 || trials.some(({ injected }) => injected)
    ? undefined
    : "no trial was shown an injected instruction, so that it cannot be seen whether one is followed";
}

/**
 * Why parameter failures, or missed calls, cannot be counted, if the policy limits them; unknown ones count as
 * missing.
 */
export function missingViews(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  { atMost: { parameterFailures = {}, missedCalls } }: CompletePolicy,
): string | undefined {
  const limited = Object.keys(parameterFailures) as ParameterFailureType[];
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(isCounted);
  const lacking = (ceiling: string, isUnknown: (trial: TrialSummary) => boolean) => {
    const unknown = trials.filter(isUnknown).length;
    return unknown === 0
      ? undefined
      : `${unknown} of ${trials.length} trials lack the comparison of their calls with the right ones, so ` +
        `that atMost.${ceiling} cannot be checked`;
  };
  return (limited.length === 0
    ? undefined
    : lacking("parameterFailures", ({ parameters }) =>
      parameters === undefined ||
      limited.some((type) =>
        parameters.undecided.includes(type) &&
        !parameters.calls.some((types) => types.includes(type))
      ))) ??
    (missedCalls === undefined
      ? undefined
      : lacking("missedCalls", ({ missed }) => missed === undefined));
}

/**
 * What of each ceiling an agent whose requests are not seen can hide: all of it, or some names in it. Frameworks keep
 * from us what they refuse by name or schema themselves; where that leaves a ceiling higher, as of missed calls, it
 * hides nothing.
 */
const HIDDEN: Readonly<Required<{ [Ceiling in keyof Ceilings]: boolean | readonly string[] }>> = {
  failures: ["function_not_found", "wrong_number_of_inputs"],
  failureShifts: ["function_not_found", "wrong_number_of_inputs"],
  parameterFailures: ["hallucination_name", "missing_information", "specification_mismatch"],
  missedCalls: false,
  flips: false,
  unmended: false,
  // Texts beside calls are in replies alone, and calls that were repeated, or demanded, may have been refused.
  behaviours: ["silent", "forced_loop", "followed_injection"],
  tokens: true,
  usd: true,
  usdPerSolved: true,
  p95Seconds: false,
};

/** Returns the ceilings of a policy that an agent whose requests are not seen could keep by hiding what it did. */
function hideableCeilings({ atMost }: CompletePolicy): string[] {
  return Object.entries(HIDDEN).flatMap(([ceiling, hidden]) => {
    const limit = atMost[ceiling as keyof Ceilings];
    if (limit === undefined || hidden === false) return [];
    if (hidden === true) return [ceiling];
    return hidden.filter((name) => Object.hasOwn(limit as object, name))
      .map((name) => `${ceiling}.${name}`);
  });
}

/**
 * Why ceilings cannot be checked on an agent: its requests were not seen, and what was not seen must not pass. `fresh`
 * are the graphs of a baseline that ran on different ones.
 */
export function unwatchedAgents(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  policy: CompletePolicy,
  fresh: readonly DecisionGraph[] = [],
): string | undefined {
  const lacking = (names: readonly string[], whose: string, ceilings: readonly string[]) => {
    const trials = scores.of(names).filter(isCounted);
    const unseen = trials.filter(isUnwatched);
    // Of tokens a part may have been seen: nobody can tell.
    if (unseen.length === 0 || ceilings.length === 0) return undefined;
    const died = unseen.filter(hasFailedFirst);
    const others = unseen.filter((trial) => !hasFailedFirst(trial));
    const what = [died, others].filter(({ length }) => length > 0).map((own) =>
      `in ${own.length} of ${trials.length} trials${whose} ${unwatchedText(own === died)}`
    );
    const [common] = commonKinds(died.flatMap(({ reason }) => reason ?? []));
    return `${what.join(", and ")}, so that ${
      ceilings.map((ceiling) => `atMost.${ceiling}`).join(", ")
    } cannot be checked` +
      (others.length === 0
        ? ""
        : ": let it ask through the fetch or baseURL that it is given, with the functions under their names, and " +
          "call none by itself (docs/agents.md)") +
      (common === undefined
        ? ""
        : `; most often (${common.count} of ${died.length}) ${common.text}`);
  };
  const ceilings = hideableCeilings(policy);
  const shifts = ceilings.filter((ceiling) => ceiling.startsWith("failureShifts."));
  return lacking(graphs.flatMap(({ candidate }) => candidate), "", ceilings) ??
    lacking(
      [...graphs.flatMap(({ baseline }) => baseline), ...fresh.flatMap((graph) => graph.candidate)],
      " of the baseline",
      shifts,
    );
}

/** Returns why trials cannot be decided on in which an agent asked other models alone; `undefined` without any. */
export function unaskedModel(trials: readonly ScoredTrial[], whose = ""): string | undefined {
  const counted = trials.filter(isCounted);
  const unasked = counted.filter((trial) => trial.unasked);
  return unasked.length === 0
    ? undefined
    : `in ${unasked.length} of ${counted.length} trials${whose} the agent got no reply of ${
      modelNames([...new Set(unasked.map(({ model }) => model.requested))])
    }, and asked ${
      modelNames(modelsBeside(unasked))
    } in its place: let it ask for options.model, the name that it ` +
      "is given (docs/agents.md)";
}

/** Returns why trials served by several models cannot be decided on together; `undefined` if one. */
export function servedModelChange(
  trials: readonly ScoredTrial[],
  what: string,
): string | undefined {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  const names = valid.flatMap(({ model }) => model.served.split(SERVED_SEPARATOR));
  const stages = Map.groupBy(
    valid.flatMap((trial) => trial.stages ?? []),
    ({ stage, model }) => `, ${printable(model.requested)} at stage ${printable(stage)},`,
  );
  const served = [
    ["", names] as const,
    ...[...stages].map(([where, own]) =>
      [where, own.flatMap(({ model }) => model.served)] as const
    ),
  ];
  for (const [where, own] of served) {
    const distinct = [...new Set(own)].filter((name) => name !== "").sort();
    if (distinct.length < 2) continue;
    return `${what}${where} changed during the run: ${
      distinct.map((name) => printable(name)).join(", ")
    }`;
  }
  return undefined;
}
