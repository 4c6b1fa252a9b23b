/**
 * Undecidable trials: why no verdict, or no ceiling, can be had over them.
 * @module
 */

import { caseText } from "./_case_text.ts";
import type { CaseUnits, Verdict } from "./decide.ts";
import { isCovered, RATES } from "./evidence.ts";
import { byCase, type DecisionGraph, type GateDecision } from "./decisions.ts";
import {
  attemptOf,
  isCounted,
  modelNames,
  modelsBeside,
  type ScoredTrial,
  type Variant,
} from "./variant.ts";
import { printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { commonKinds } from "../base/text_kind.ts";
import { INJECTED_INSTRUCTION, isRemoving } from "../perturbations/ids.ts";
import { isOn } from "../perturbations/methods.ts";
import { chosenText } from "../models/recordings/origin.ts";
import { isFault } from "../tools/fault.ts";
import type { CompletePolicy } from "./policy.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { isCase, isGenerated, isQuestion } from "../tasks/task_kind.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";

/** Why nothing can be decided over the trials of a decision, those of its baseline being from a file or not. */
export function undecidable(
  { subject, baseline, graphs }: GateDecision,
  own: readonly ScoredTrial[],
  other: readonly ScoredTrial[],
  isOfFile: boolean,
): string | undefined {
  return unequalCases(graphs) ?? mixedWays(own) ?? unsolvable([subject, baseline]) ??
    withoutAnswer([...own, ...other]) ?? misjudged(own) ?? idlePerturbation(own) ??
    // A file has no calls.
    (isOfFile ? undefined : idlePerturbation(other)) ??
    chosenText(own) ?? chosenText(other) ??
    unaskedModel(own) ?? unaskedModel(other, " of the baseline") ??
    servedModelChange(own, "the served model") ??
    servedModelChange(other, "the served model of the baseline");
}

/** The rate of a suite is the mean of those of its cases, so that each needs the same number of trials. */
function unequalCases(graphs: readonly DecisionGraph[]): string | undefined {
  const cases = [...byCase(graphs)].sort(([, one], [, other]) => one.length - other.length);
  const [few, many] = [cases[0], cases.at(-1)];
  if (few === undefined || few[1].length === many![1].length) return undefined;
  const [least, most] = [few, many!].map(([name, { length }]) => `${caseText(name)} has ${length}`);
  return `cases must have the same number of trials: ${least}, ${most}`;
}

/** Questions asked in different ways have different rates, and a mean of them shows nothing. */
function mixedWays(trials: readonly ScoredTrial[]): string | undefined {
  const kinds = new Set(trials.flatMap(({ task }) => isQuestion(task) ? [scoringKey(task)] : []));
  return kinds.size <= 1
    ? undefined
    : `questions are asked in ${kinds.size} ways, but a gate decides on one: run each way separately`;
}

/** Under some perturbations the right answer is to solve nothing, which no gate can require. */
function unsolvable(subjects: readonly (Variant | undefined)[]): string | undefined {
  const removing = subjects.find((one) => one !== undefined && isRemoving(one.perturbation));
  return removing &&
    `under ${
      printable(removing.perturbation)
    } no task can be solved: the right answer is to abstain`;
}

/** A gate cannot require what documents have made impossible. */
function withoutAnswer(trials: readonly ScoredTrial[]): string | undefined {
  const found = trials.filter((trial) => trial.unsolvable !== undefined);
  return found.length === 0
    ? undefined
    : `${found.length} of ${trials.length} trials are on tasks without an answer: under ${
      printable(found[0]!.perturbation)
    } ${
      found[0]!.unsolvable === "misleading"
        ? "documents mislead"
        : "nothing links their parameters any more"
    } (with cues: "names", names show what belongs together)`;
}

/** Why no gate decides: trials that the test could not judge are not those of a model that fails, or passes. */
function misjudged(trials: readonly ScoredTrial[]): string | undefined {
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
  readonly has: (trial: ScoredTrial, id: string) => boolean;
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
  const counted = trials.filter(isCounted);
  const ids = counted[0]?.perturbation.split("+") ?? [];
  return ids.flatMap((id) =>
    REACHES.filter(({ is }) => is(id)).map(({ words, has }) => ({
      id,
      words,
      trials: counted.filter((trial) => has(trial, id)).length,
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
  const told = trials.filter((trial) => isCounted(trial) && !isGenerated(trial.task));
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
    const isChance = told.length === 1 && told[0]!.calls! > 0 && id.startsWith("flaky");
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
    if (attemptOf(trial, policy.infrastructure) !== "resampled") return [];
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
    return "gate.every needs cases of your own tests, and there are other tasks";
  }
  return cases.every(({ units }) => units.every(RATES.single))
    ? undefined
    : "gate.every needs independent trials, and here trials are repeated: set trials, not repetitions";
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
}
