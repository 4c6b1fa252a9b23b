/**
 * Trial ids: one line each, which holds all that is needed to run a trial again.
 * @module
 */

import { z } from "zod";
import { attempt } from "../base/errors.ts";
import { defined } from "../base/json.ts";
import { CALL_FORMATS, CALL_MODES, SCORING_RULES } from "../tasks/questions/scoring.ts";
import { DIFFICULTIES } from "../tasks/questions/question_set.ts";
import { CUES, LINKINGS, NAMES, SURFACES } from "../tasks/graphs/graph.ts";
import { briefProbe } from "../tasks/probes.ts";
import { briefSpec } from "../tasks/graphs/task.ts";
import {
  briefQuestion,
  isGenerated,
  isProbe,
  isQuestion,
  type TaskSpec,
} from "../tasks/task_kind.ts";

/** The key of a trial: one model, strategy, perturbation and variant on one task, for the nth time. */
export interface TrialKey {
  /** The name of the requested model. */
  readonly model: string;
  /** The strategy's id. */
  readonly strategy: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation: string;
  /** The name of the settings, such as `old` and `new`; omitted where there are no others. */
  readonly variant?: string;
  /** The spec of the task. */
  readonly task: TaskSpec;
  /** The repetition, from 1. */
  readonly repetition: number;
}

/** A trial and its place in a plan. */
export interface PlannedTrial extends TrialKey {
  /** The one-line id. */
  readonly id: string;
  /** The place in the plan, from 0. */
  readonly index: number;
  /** Its balanced block, from 0: one graph of every cell. */
  readonly block: number;
}

/** Returns the spec without default values, as journals keep it. */
export function briefTask(spec: TaskSpec): TaskSpec {
  if (isGenerated(spec)) return briefSpec(spec);
  if (isQuestion(spec)) return briefQuestion(spec);
  return isProbe(spec) ? briefProbe(spec) : { case: spec.case, seed: spec.seed };
}

/** Returns the one-line id of a trial: everything needed to run it again. */
export function trialId(key: TrialKey): string {
  const { model, strategy, perturbation, variant, task, repetition } = key;
  const words = { ...briefTask(task), model, strategy, perturbation, variant, repetition };
  return Object.entries(defined(words)).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join("..") : String(value);
    return `${name}=${encodeURI(text.toWellFormed())}`;
  }).join(" ");
}

const WHOLE = z.stringFormat("whole number", /^(0|[1-9]\d*)$/).transform(Number);
const RANGE = z.stringFormat("range", /^\d+\.\.\d+$/)
  .transform((range) => range.split("..").map(Number) as [number, number]);
const TEXT = z.string().transform((text) => decodeURI(text));

/** The words that all ids share. */
const KEY_WORDS = {
  model: TEXT,
  strategy: TEXT,
  perturbation: TEXT,
  variant: TEXT.exactOptional(),
  repetition: WHOLE.refine((repetition) => repetition >= 1),
};

/** The words of an id, by kind of task; the most frequent one is tried first. */
const ID_WORDS = z.union([
  z.strictObject({
    core: WHOLE,
    depth: WHOLE,
    connected: WHOLE,
    disconnected: WHOLE,
    seed: WHOLE,
    types: WHOLE.exactOptional(),
    inputs: RANGE.exactOptional(),
    extraEdges: WHOLE.exactOptional(),
    linking: z.enum(LINKINGS).exactOptional(),
    surface: z.enum(SURFACES).exactOptional(),
    outputs: RANGE.exactOptional(),
    names: z.enum(NAMES).exactOptional(),
    cues: z.enum(CUES).exactOptional(),
    ...KEY_WORDS,
  }),
  z.strictObject({ case: TEXT, seed: WHOLE, ...KEY_WORDS }),
  z.strictObject({
    set: TEXT,
    question: TEXT,
    difficulty: z.enum(DIFFICULTIES),
    mode: z.enum(CALL_MODES),
    rule: z.enum(SCORING_RULES).exactOptional(),
    input: z.enum(CALL_FORMATS).exactOptional(),
    output: z.enum(CALL_FORMATS).exactOptional(),
    ...KEY_WORDS,
  }),
]);

/** Parses an id made by {@linkcode trialId}; returns `undefined` if it is none. */
export function parseTrialId(id: string): TrialKey | undefined {
  const words = id.trim().split(/\s+/).map((word) => {
    const sign = word.indexOf("=");
    return [word.slice(0, Math.max(0, sign)), word.slice(sign + 1)] as const;
  });
  if (new Set(words.map(([name]) => name)).size < words.length) return undefined;
  return attempt((): TrialKey => {
    const { model, strategy, perturbation, variant, repetition, ...spec } = ID_WORDS.parse(
      Object.fromEntries(words),
    );
    const task = briefTask(spec);
    return { model, strategy, perturbation, ...defined({ variant }), task, repetition };
  });
}
