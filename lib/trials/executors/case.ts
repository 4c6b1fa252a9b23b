/**
 * Cases: a question about custom tools, judged by the user's own assertions.
 * @module
 */

import { behavioursIn } from "../../calls/behaviour.ts";
import type { Behaviour, ParameterFailureType } from "../../calls/failure_types.ts";
import { type CallRecord, recordedCalls } from "../../calls/record.ts";
import type { AnswerCheck, Fixture, Work } from "./fixture.ts";
import { cannot, InputError, isErrorOf, reasonOf, WHOLE_MESSAGES } from "../../base/errors.ts";
import {
  canonicalJson,
  defined,
  type JsonObject,
  type JsonValue,
  printable,
  printableLines,
} from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import type { Message } from "../../tools/message.ts";
import { isJson, isMatcher } from "../../calls/expected/matchers.ts";
import type { ExpectedCall } from "../../tools/expected_call.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { withViews } from "../../calls/parameter_views.ts";
import { impossibleFailures } from "../../calls/possible_failures.ts";
import {
  perturbCase,
  type PerturbedCase,
  type Step,
  toolboxOptions,
} from "../../perturbations/perturbed_case.ts";
import type { QueryParameter } from "../../perturbations/queries/literals.ts";
import { findParameters } from "../../perturbations/queries/parameters.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import { schemaOf, type Tool, type ToolChoice } from "../../tools/tool.ts";
import { redact } from "../../base/redact.ts";
import { atPlace, placeOf, thrownText } from "../../base/user_code.ts";
import { Toolbox } from "./toolbox.ts";
import { type AssertionEvent, MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import type { CaseSpec } from "./task_kind.ts";

/** The result of one trial of a case, passed to its `assert`. */
export interface ToolTestRun<State = undefined> extends CallRecord {
  /** The value that `state` made for this trial, as the tools left it. */
  readonly state: State;
  /** All messages, the question first. */
  readonly messages: readonly Message[];
  /** The final text with names beside values; omitted when no names are used. */
  readonly rendered?: string;
  /** The effect of each perturbation; empty without any. */
  readonly perturbed: readonly Step[];
  /** Whether values were removed from the question, so that asking for them may be the right answer. */
  readonly removed: boolean;
  /** The seed of the trial. */
  readonly seed: number;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
}

/** A case: tools, what the user says, and the assertions about the result. */
export interface ToolCase<State = undefined> {
  /** Its name. */
  readonly name: string;
  /** Makes the state that the tools work on, once for each trial. */
  readonly state?: () => State;
  /** The tools, or a function that makes them for each trial. */
  readonly tools: readonly Tool[] | ((state: State) => readonly Tool[]);
  /** The system message. */
  readonly system?: string;
  /** The question. */
  readonly prompt: string;
  /** The user's further messages, each sent after an answer, with the same tools and state. */
  readonly turns?: readonly string[];
  /**
   * The correct calls, without `defaults`: they classify parameter failures, and their arguments are looked
   * for in the question.
   */
  readonly expected?: readonly ExpectedCall[];
  /** The parameters stated in the question; default: arguments of the expected calls found in it. */
  readonly parameters?: readonly QueryParameter[];
  /** Whether the model may, must or must not call; default: as its options say. */
  readonly toolChoice?: ToolChoice;
  /** Throws an `AssertionError` if the run is not as it should be. */
  readonly assert: (run: ToolTestRun<State>) => void | Promise<void>;
}

/** The default call limit: stops a model that never stops calling. */
const MAX_CALLS = 50;

/** Options of {@linkcode CaseExecutor}. */
export interface CaseExecutorOptions extends Partial<ExecutorOptions> {
  /** Perturbation of what the model sees; default `none`. */
  readonly perturbation?: string;
}

/** A case in one trial. */
export class CaseExecutor<State> extends Toolbox implements Fixture {
  /** The question as the model gets it. */
  readonly prompt: string;
  /** The system message. */
  readonly system: string | undefined;
  /** The user's further messages, each sent after an answer. */
  readonly turns: readonly string[];
  /** The number of correct calls; `null` if these are not known. */
  readonly minimumCalls: number | null;
  /** The tools of the correct calls; omitted when these are not known. */
  readonly needed: readonly string[] | undefined;
  /** Whether the model may, must or must not call. */
  readonly toolChoice: ToolChoice | undefined;

  readonly #case: ToolCase<State>;
  readonly #state: State;
  readonly #tools: readonly Tool[];
  readonly #perturbed: PerturbedCase | undefined;
  readonly #seed: number;

  /**
   * Makes state and tools for the trial. The default call limit is 50.
   *
   * @throws {InputError} If `state` or `tools` throws or returns a promise, the tools do not fit the case,
   * or the perturbation is unknown.
   */
  constructor(toolCase: ToolCase<State>, { seed }: CaseSpec, options: CaseExecutorOptions = {}) {
    const { perturbation = "none", ...others } = options;
    const state = makeForTrial("state", () => toolCase.state?.() as State);
    const make = toolCase.tools;
    const tools = typeof make === "function" ? makeForTrial("tools", () => make(state)) : make;
    assertCaseTools(toolCase, tools);
    const text = toolCase.prompt;
    const parameters = toolCase.parameters ??
      findParameters(text, (toolCase.expected ?? []).map(plainArguments));
    const perturbed = perturbation === "none"
      ? undefined
      : perturbCase(tools.map(schemaOf), { text, parameters }, perturbation, {
        seed,
        needed: [...new Set((toolCase.expected ?? []).map(({ tool }) => tool))],
      });
    super(tools, {
      callLimit: MAX_CALLS,
      ...others,
      ...(perturbed === undefined ? {} : toolboxOptions(perturbed)),
    });
    this.#case = toolCase;
    this.#state = state;
    this.#tools = tools;
    this.#perturbed = perturbed;
    this.#seed = seed;
    this.prompt = perturbed?.query.text ?? text;
    this.system = toolCase.system;
    this.turns = toolCase.turns ?? [];
    this.minimumCalls = toolCase.expected?.length ?? null;
    this.needed = toolCase.expected?.map(({ tool }) => tool);
    this.toolChoice = toolCase.toolChoice;
  }

  /** Whether the perturbation found something to change. */
  get changed(): boolean {
    return this.#perturbed === undefined || this.#perturbed.steps.some(({ changed }) => changed);
  }

  /** Judges the run by the user's own assertions. */
  async answer(text: string, rendered: string | undefined, work: Work): Promise<AnswerCheck> {
    this.assertOpen("take an answer");
    if (this.exhausted) {
      this.end(text, null, rendered);
      return { outcome: "call_limit", grounded: false };
    }
    const failure = await this.#runAssert(this.#run(text, rendered, work));
    if (failure !== undefined) this.record(failure);
    this.end(text, null, rendered);
    return failure === undefined
      ? { outcome: "solved", grounded: true }
      : { outcome: "wrong_answer", grounded: false };
  }

  /** The events with each call compared to the correct ones, if these are known. */
  viewed(): readonly TraceEvent[] | undefined {
    const { expected } = this.#case;
    return expected === undefined ? undefined : withViews(this.events, expected, this.#tools);
  }

  /** The parameter failures that no call of it can show, by the schemas of its tools. */
  get impossible(): readonly ParameterFailureType[] {
    const { expected } = this.#case;
    return expected === undefined ? [] : impossibleFailures(expected, this.#tools);
  }

  /** The behaviours that a trace of it shows; default: its own. */
  behaviours(events: readonly TraceEvent[] = this.events): Behaviour[] {
    return behavioursIn(events, {
      needed: this.#case.expected?.map(({ tool }) => tool) ?? [],
      answerOf: () => undefined,
      wordsCount: true,
      forced: this.toolChoice !== undefined && this.toolChoice !== "auto",
    });
  }

  #run(answer: string, rendered: string | undefined, work: Work): ToolTestRun<State> {
    const { messages, usage, durationMs } = work;
    return {
      calls: recordedCalls(this.events, this.uncut),
      tools: this.#tools.map(schemaOf),
      answer,
      ...defined({ rendered }),
      replies: this.events.filter(({ kind }) => kind === "reply").length,
      ...{ messages, usage, durationMs },
      state: this.#state,
      perturbed: this.#perturbed?.steps ?? [],
      removed: this.#perturbed?.removed ?? false,
      seed: this.#seed,
      events: [...this.events],
    };
  }

  /** The assertion that fails for the run; `undefined` if none does. */
  async #runAssert(run: ToolTestRun<State>): Promise<AssertionEvent | undefined> {
    try {
      await this.#case.assert(run);
      return undefined;
    } catch (error) {
      if (isErrorOf(error, InputError)) throw misusedAssertion(error);
      // An unreachable judge is not the model's failure.
      if (isNamed(error, "InfrastructureError")) throw error;
      const at = placeOf(error);
      return {
        kind: "assertion",
        message: assertionText(error),
        ...defined({ at }),
      };
    }
  }
}

/**
 * A hash of what a case asks and asserts, as far as the case itself contains it, so that trials of
 * different texts are never mixed.
 */
export function caseDigest<State>(toolCase: ToolCase<State>): string {
  const { name, tools, system, prompt, turns, toolChoice, expected, parameters, state, assert } =
    toolCase;
  const offered = typeof tools === "function" ? String(tools) : tools.map(schemaOf);
  // Under the names of version 1, so that journals go on with the same tests.
  const oracle = expected?.map(({ ignore: allowed, ...call }) => ({ ...call, allowed }));
  return sha256(canonicalJson({
    ...{ name, offered, system, prompt, turns, toolChoice, oracle, parameters },
    state: state === undefined ? undefined : String(state),
    assert: String(assert),
  }));
}

/**
 * Checks the tools of a case, and the names it uses for them.
 *
 * @throws {InputError} If a tool is invalid, or `expected` or `toolChoice` names a tool that does not exist.
 */
export function assertCaseTools(
  { expected = [], toolChoice }: Pick<ToolCase, "expected" | "toolChoice">,
  tools: readonly Tool[],
): void {
  if (!Array.isArray(tools)) {
    throw cannot("offer tools", "they must be a list", `what makes them gave ${typeName(tools)}`);
  }
  assertTools(tools);
  const names = tools.map(({ name }) => name);
  const named = [
    ...expected.map(({ tool }) => ["expected", tool] as const),
    ...(typeof toolChoice === "object" ? [["toolChoice", toolChoice.function] as const] : []),
  ];
  const absent = named.find(([, name]) => !names.includes(name));
  if (absent === undefined) return;
  const [option, name] = absent;
  throw cannot(
    `use ${option}`,
    "it must name existing tools",
    `there is no tool ${printable(name, 80)}, but ${
      names.map((other) => printable(other, 80)).join(", ") || "none"
    }`,
  );
}

/** Calls the user's function that makes state or tools for a trial. */
function makeForTrial<Value>(what: "state" | "tools", make: () => Value): Value {
  let value: Value;
  try {
    value = make();
  } catch (error) {
    throw cannot("begin a trial", `${what} must not throw`, thrownText(error));
  }
  if (value instanceof Promise) {
    value.catch(() => {});
    throw cannot(
      "begin a trial",
      `${what} must be made at once`,
      "it is a promise. What takes time is done before the test is registered, or by the tools",
    );
  }
  return value;
}

function typeName(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/**
 * The text of an error thrown by the user's assert. Assertions may come from any library, even from several
 * copies of one. Any other error counts as one too: it usually means that an expected value is missing, and
 * were such a trial `invalid`, running it again until it passes would make a bad model look good.
 */
function assertionText(error: unknown): string {
  const message = isNamed(error, "AssertionError")
    ? (WHOLE_MESSAGES.get(error as Error) ?? reasonOf(error)).replace(COLOURS, "")
    : `assert ${thrownText(error).replace(/^it /, "")} (no AssertionError)`;
  // Model output must not act as a command in a CI log.
  const text = redact(message).replace(/^(\s*)::/gm, "$1\\::").replaceAll("##[", "#\\#[");
  return printableLines(text, MAX_KEPT_LENGTH);
}

/** How the reason of a trial begins whose assertions were used wrongly: nothing is wrong with its replies. */
export const MISJUDGED = "Cannot judge the run";

/** An assertion that was used wrongly: its own message says how. */
function misusedAssertion(error: InputError): InputError {
  const lines = error.message.split("\n").map((line) => line.trim());
  return new InputError(`${MISJUDGED}${atPlace(error)}: ${lines.join(" ")}`);
}

/** The arguments of a correct call that are plain values; of several alternatives, the first. */
function plainArguments({ arguments: expected = {} }: ExpectedCall): { arguments: JsonObject } {
  const plain = Object.entries(expected).flatMap(([name, value]): [string, JsonValue][] => {
    const [first] = isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : [];
    return first === undefined ? [] : [[name, first]];
  });
  return { arguments: Object.fromEntries(plain) };
}

/** Whether an error, or its class, has a name; of a hostile one nothing can be asked. */
function isNamed(error: unknown, name: string): boolean {
  try {
    return error instanceof Error && (error.name === name || error.constructor.name === name);
  } catch {
    return false;
  }
}

/** Terminal colour codes. */
// deno-lint-ignore no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;
