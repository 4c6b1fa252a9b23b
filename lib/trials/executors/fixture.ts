/**
 * Fixtures: a task in one trial, which answers calls and judges the final answer.
 * @module
 */

import type { Behaviour, ParameterFailureType } from "../../calls/failure_types.ts";
import type { StageUse } from "../../models/model.ts";
import type { Message, Usage } from "../../tools/message.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Obstacle } from "../../perturbations/methods.ts";
import type { Environment, ToolChoice, ToolSchema } from "../../tools/tool.ts";
import type { Executor } from "./executor.ts";
import type { SolvedExample } from "../../tasks/examples.ts";
import type { JudgedAnswer, TraceEvent } from "../../calls/trace.ts";
import type { StateDifference } from "../../calls/values/state_difference.ts";
import type { Conversation, ConversationOptions } from "../users/conversation.ts";

/** The fixture's judgement of an answer. */
export interface AnswerCheck {
  /** Whether the answer is right, wrong or missing, or rightly missing. */
  readonly outcome:
    | "solved"
    | "wrong_answer"
    | "no_answer"
    | "abstained"
    | "call_limit"
    | "turn_limit";
  /** Whether a call really returned the answer. */
  readonly grounded: boolean;
}

/** The work that led to an answer. */
export interface Work {
  /** All messages; of a custom agent those that its requests show. */
  readonly messages: readonly Message[];
  /** Input and output tokens of all models. */
  readonly usage: Usage;
  /** Milliseconds, including tools, without waiting, retries and failed attempts. */
  readonly durationMs: number;
  /** The same for each message of the user, the question first; omitted if there is one alone. */
  readonly turnsMs?: readonly number[];
  /** The answer before a model repaired it; omitted when it was not repaired. */
  readonly unrepaired?: string;
  /** The conversation with a simulated user; omitted without one. */
  readonly conversation?: Conversation | undefined;
  /** Asks a model how similar a prediction and the truth are; omitted when there is no judge. */
  readonly judge?: (predicted: JsonValue, truth: JsonValue) => Promise<JudgedAnswer>;
  /** Ends what is waited for with its reason. */
  readonly signal?: AbortSignal;
}

/** Messages and tools as presented to a model that answers in text. */
export interface Presented {
  /** The conversation, including a description of the tools. */
  readonly messages: readonly Message[];
  /** The tools it may call. */
  readonly tools: readonly ToolSchema[];
}

/** A task in one trial. */
export interface Fixture
  extends
    Environment,
    Disposable,
    Pick<Executor, "events" | "calls" | "ended" | "broken" | "call" | "step" | "record"> {
  /** The user message. */
  readonly prompt: string;
  /** The system message; omitted when there is none. */
  readonly system?: string | undefined;
  /** What was said before the user message; omitted when there was nothing. */
  readonly history?: readonly Message[];
  /** The user's further messages, each sent after an answer; omitted when there are none. */
  readonly turns?: readonly string[] | undefined;
  /** Makes the user's side of its conversation; omitted where nobody answers the model. */
  readonly converse?: (
    options: Omit<ConversationOptions, "user" | "tools" | "seed">,
  ) => Conversation | undefined;
  /** The minimum number of calls that solve the task; `null` if unknown. */
  readonly minimumCalls: number | null;
  /** The tools of the calls that it needs, one for each call; omitted when unknown, or shown by roles. */
  readonly needed?: readonly string[] | undefined;
  /** The domain of a question of a call set; omitted for other tasks. */
  readonly domain?: string | undefined;
  /** Presents its tools to the model; omitted when they can be called. */
  readonly present?: (messages: readonly Message[], tools: readonly ToolSchema[]) => Presented;
  /** Whether the calls so far are the answer, so that the model is asked no more. */
  readonly settled?: boolean;
  /** Returns why an answer cannot be read; omitted when any text is an answer. */
  readonly unreadable?: (answer: string) => string | undefined;
  /**
   * Writes a list of calls, as `backward` makes it in JSON, in the form of an answer; omitted when calls can be
   * made.
   */
  readonly fromList?: (list: string) => string;
  /** Returns at most `count` solved examples of other tasks of its kind; omitted when it has none. */
  readonly examples?: (count: number) => readonly SolvedExample[];
  /** Whether the perturbation found something to change; `true` without one. */
  readonly changed: boolean;
  /** What keeps a model from the right answer of a generated task; omitted where nothing does. */
  readonly unsolvable?: Obstacle;
  /** The task's tool choice; `undefined` if it leaves that to the model. */
  readonly toolChoice: ToolChoice | undefined;
  /**
   * Takes the final answer, reads its value and judges it. Where names stand for values, `text` has the
   * values, and `rendered` is the text for people.
   *
   * @throws {InputError} If the user's own judging code is broken.
   */
  answer(
    text: string,
    rendered: string | undefined,
    work: Work,
  ): AnswerCheck | Promise<AnswerCheck>;
  /** The tokens of each judge that the user's own judging code asked; omitted where there is no such code. */
  readonly judging?: readonly Omit<StageUse, "stage">[];
  /** Set if it was opened without what the user's functions make for each trial: tools or prompt are missing. */
  readonly unmade?: true | undefined;
  /** Why what the trial needs could not be made, so that it cannot begin; omitted if it was. */
  readonly unready?: string | undefined;
  /**
   * Disposes of what was made for the trial, once; returns what went wrong. Omitted if nothing has to be made.
   */
  readonly release?: () => Promise<string | undefined>;
  /** The events with each call compared to the correct ones; `undefined` if no calls are correct. */
  viewed(): Promise<readonly TraceEvent[] | undefined>;
  /** Returns what changed in its state, without the keys given and those found in it; omitted without a state. */
  readonly stateDifference?: ((keys: Set<string>) => StateDifference) | undefined;
  /** The parameter failures that no call of it can show; omitted if no calls are correct. */
  readonly impossible?: readonly ParameterFailureType[];
  /**
   * The behaviours that a trace of it shows; default: its own.
   *
   * @param toolChoice Whether the model may, must or must not call. Default: as the task says.
   */
  behaviours(events?: readonly TraceEvent[], toolChoice?: ToolChoice): Behaviour[];
}
