/**
 * Trials: one model works on one task, recorded as one line of a journal.
 * @module
 */

import { z } from "zod";
import {
  type Behaviour,
  FAILURE,
  type Failure,
  type ParameterFailureType,
} from "../calls/failure_types.ts";
import type { Usage } from "../tools/message.ts";
import { ORIGIN, type Origin } from "../models/recordings/origin.ts";
import { PERMANENT, type Permanent, type StageUse } from "../models/model.ts";
import { type Obstacle, OBSTACLES } from "../perturbations/methods.ts";
import { type Api, APIS } from "../models/formats/registry.ts";
import { EVENT, type TraceEvent } from "../calls/trace.ts";
import { TRANSCRIPT, type Transcript } from "./transcript.ts";
import type { PlannedTrial } from "./trial_id.ts";
import { END_REASONS, USER_FAULTS } from "../calls/user_reply.ts";
import type { TrialUser } from "./users/user.ts";

/**
 * The ways a trial can end. `invalid` means an infrastructure error: neither a failure nor a success of the
 * model. `agent_error` means that an agent of the user's own threw or returned no text, `filtered` that a content filter left
 * nothing of a reply. `turn_limit` means that a simulated user had more to say than the messages that he may write.
 * `abstained` is right if a perturbation left nothing that leads to the answer: the model
 * gave no answer, and no call had an invented value in its place.
 */
export const OUTCOMES = [
  "solved",
  "wrong_answer",
  "no_answer",
  "abstained",
  "call_limit",
  "step_limit",
  "time_limit",
  "token_limit",
  "turn_limit",
  "filtered",
  "agent_error",
  "invalid",
] as const;

/** How a trial ended. */
export type Outcome = typeof OUTCOMES[number];

/** Separates the names of served models, if they change within a trial. */
export const SERVED_SEPARATOR = ", ";

/** The model that judged an answer, or was asked by `assert`, and its token usage. */
export interface Judging extends Omit<StageUse, "stage"> {
  /** Further judges that `assert` asked; omitted without any. */
  readonly others?: readonly Omit<StageUse, "stage">[];
}

/** The record of a finished trial: one line of a journal. */
export interface Trial extends Omit<PlannedTrial, "model"> {
  /** The version of this format. */
  readonly v: 1;
  /** The kind of line. */
  readonly kind: "trial";
  /** The name of the suite. */
  readonly suite: string;
  /**
   * The `requested` model; the one named in the replies (`served`; several are joined by ", ", empty without a reply);
   * whether a simulated model took part; the API, if known; `toolChoice` if the model may call nothing or must call.
   */
  readonly model: {
    readonly requested: string;
    readonly served: string;
    readonly simulated: boolean;
    readonly api?: Api;
    readonly toolChoice?: "none" | "required";
  };
  /** `false` if the perturbation found nothing to change; else omitted. */
  readonly changed?: false;
  /**
   * Why nothing that the model was shown leads to the answer of a perturbed task: the question lacks a value
   * (`removed`), a function is denied, nothing links a parameter to its value (`unlinked`), or descriptions link it to
   * another (`misleading`). Omitted otherwise.
   */
  readonly unsolvable?: Obstacle;
  /**
   * How it ended: `turn_limit` if a simulated user had more to say than he may write, `filtered` if a content filter
   * left nothing of a reply, `agent_error` if an agent of your own threw or returned no text, `invalid` if
   * infrastructure failed.
   */
  readonly outcome: Outcome;
  /** Whether it ended with the right answer. */
  readonly solved: boolean;
  /** Whether the target function really returned the answered value. */
  readonly grounded: boolean;
  /** Calls within the limit, refused ones included. */
  readonly calls: number;
  /** The minimum number of calls that solve the task; `null` if unknown. */
  readonly minimumCalls: number | null;
  /**
   * The tools of the calls that a case needs, or a question in mode `tools`, one for each call; omitted for other
   * tasks, and if unknown.
   */
  readonly needed?: readonly string[];
  /** The domain of a question of a call set; omitted for other tasks. */
  readonly domain?: string;
  /** The failures of its calls. */
  readonly failures: readonly Failure[];
  /** What the `parameters` of its calls are compared with; omitted without any. */
  readonly oracle?: "truth";
  /** The parameter failures that none of its calls could show, by the schemas of its tools; omitted without any. */
  readonly impossible?: readonly ParameterFailureType[];
  /** The behaviours it showed. */
  readonly behaviours: readonly Behaviour[];
  /** Tokens of all models but judges and simulated users. */
  readonly usage: Usage;
  /**
   * Whether the requests of an agent of your own were seen. If not, wrong names and unreadable arguments are unknown,
   * and without replies tokens too. Omitted for models.
   */
  readonly agent?: "watched" | "unwatched";
  /** Usage of models other than the requested one, by stage; omitted without any. */
  readonly stages?: readonly StageUse[];
  /** The judge of its answer and its usage, which is not the model's; omitted without a judge. */
  readonly judging?: Judging;
  /** The simulated user and his usage, which is not the model's; omitted without one. */
  readonly user?: TrialUser;
  /** When it started, in ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds, without waiting, retries and failed attempts. */
  readonly durationMs: number;
  /** Why it is invalid, or what its agent threw; omitted for other outcomes. */
  readonly reason?: string;
  /** What must change before any trial of the model can be valid; omitted if that is not known. */
  readonly permanent?: Permanent;
  /** Set if only the words of an error say so, which a server may quote from the model. */
  readonly byWords?: true;
  /** Set if it is invalid as its assertions were used wrongly; its replies are fine. */
  readonly misjudged?: true;
  /**
   * Why its clean-up failed, which does not change how it ended; omitted where it did not fail.
   */
  readonly cleanUp?: string;
  /** Set if no model was asked: all replies came from recordings. */
  readonly replayed?: true;
  /** Set if some replies came from recordings, and a model was asked for the others. */
  readonly partlyReplayed?: true;
  /** The number of results of tools that came from its recording; omitted without any. */
  readonly replayedResults?: number;
  /** Tokens of invalid attempts before it, from its recording; omitted without any. */
  readonly replaced?: Usage;
  /** Set if a model cannot have caused those. */
  readonly replacedIdle?: true;
  /**
   * A key of its replies, which a replay keeps; omitted if they were neither recorded nor replayed.
   */
  readonly draw?: string;
  /**
   * The `runs` in which its replies were drawn, and the runs of replies that are gone (`lost`); omitted if they were
   * neither recorded nor replayed.
   */
  readonly origin?: Origin;
  /**
   * What its model saw at its beginning, and what changed in the state; omitted for tasks that can be made again from
   * their seeds, and if the run keeps none.
   */
  readonly transcript?: Transcript;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
}

/** The schema of tokens. */
const USAGE = z.looseObject({
  inputTokens: z.number().min(0),
  outputTokens: z.number().min(0),
  estimated: z.literal(true).exactOptional(),
});

/** The usage of a model other than the trial's own. */
const MODEL_USE = {
  model: z.looseObject({
    requested: z.string(),
    served: z.array(z.string()),
    simulated: z.boolean(),
  }),
  usage: USAGE,
};

/** The schema of the fields of a trial in a journal. */
const FIELDS = {
  v: z.literal(1),
  kind: z.literal("trial"),
  id: z.string().min(1),
  suite: z.string(),
  index: z.int().min(0).default(0),
  block: z.int().min(0).default(0),
  model: z.looseObject({
    requested: z.string(),
    served: z.string(),
    simulated: z.boolean().optional(),
    api: z.enum(APIS).exactOptional(),
    toolChoice: z.enum(["none", "required"]).exactOptional(),
  }).overwrite((model) =>
    model.simulated === undefined
      ? { ...model, simulated: model.requested.startsWith("sim:") }
      : model
  ),
  strategy: z.string().default("plain"),
  perturbation: z.string().nullish().overwrite((id) => id ?? "none").default("none"),
  variant: z.string().exactOptional(),
  task: z.looseObject({}),
  repetition: z.int().min(1).default(1),
  changed: z.literal(false).exactOptional(),
  unsolvable: z.enum(OBSTACLES).exactOptional(),
  outcome: z.enum(OUTCOMES),
  solved: z.boolean(),
  grounded: z.boolean().default(false),
  calls: z.int().min(0),
  minimumCalls: z.int().min(0).nullable().default(null),
  needed: z.array(z.string()).exactOptional(),
  domain: z.string().exactOptional(),
  failures: z.array(FAILURE).default([]),
  oracle: z.literal("truth").exactOptional(),
  impossible: z.array(z.string()).exactOptional(),
  behaviours: z.array(z.string()).default([]),
  usage: USAGE.default({ inputTokens: 0, outputTokens: 0 }),
  agent: z.enum(["watched", "unwatched"]).exactOptional(),
  stages: z.array(z.looseObject({ stage: z.string(), ...MODEL_USE })).exactOptional(),
  judging: z.looseObject({
    ...MODEL_USE,
    others: z.array(z.looseObject(MODEL_USE)).exactOptional(),
  }).exactOptional(),
  user: z.looseObject({
    ...MODEL_USE,
    messages: z.int().min(0),
    end: z.enum(END_REASONS).exactOptional(),
    fault: z.enum(USER_FAULTS).exactOptional(),
    redraws: z.int().min(1).exactOptional(),
  }).exactOptional(),
  startedAt: z.string().default(""),
  durationMs: z.number().default(0),
  reason: z.string().nullish().overwrite((reason) => reason ?? undefined),
  permanent: z.enum(PERMANENT).exactOptional(),
  byWords: z.literal(true).exactOptional(),
  misjudged: z.literal(true).exactOptional(),
  cleanUp: z.string().exactOptional(),
  replayed: z.literal(true).exactOptional(),
  partlyReplayed: z.literal(true).exactOptional(),
  replayedResults: z.int().min(0).exactOptional(),
  replaced: USAGE.exactOptional(),
  replacedIdle: z.literal(true).exactOptional(),
  draw: z.string().exactOptional(),
  origin: ORIGIN.exactOptional(),
  // Nothing is decided by it, and other tools may have another field of this name.
  transcript: TRANSCRIPT.exactOptional().catch(undefined as never),
  // Other tools may record other events; facts derived from them are then unknown, but a call that must not happen
  // in any trial still fails a gate.
  events: z.array(EVENT).catch(({ value }) => forbiddenAmong(value)),
};

/** The names of these fields. */
export const TRIAL_FIELDS = Object.keys(FIELDS) as (keyof Trial)[];

/** The schema of a trial in a journal; further fields are kept as they are. */
export const TRIAL_LINE: z.ZodType<Trial> = z.looseObject(FIELDS).refine(
  (trial) => trial.solved === (trial.outcome === "solved"),
  {
    message: "solved must be true exactly when outcome is solved",
    path: ["solved"],
  },
) as unknown as z.ZodType<Trial>;

/** The events of a list, readable or not, that tell of a call that must not happen in any trial. */
function forbiddenAmong(events: unknown): TraceEvent[] {
  return (Array.isArray(events) ? events : []).flatMap((event) => {
    const { data } = EVENT.safeParse(event);
    return data?.kind === "assertion" && data.never ? [data] : [];
  });
}
