/**
 * Questions of call sets: one trial compares the answer with the true calls (CallNavi).
 * @module
 */

import type { Behaviour } from "../../calls/failure_types.ts";
import { recordedCalls } from "../../calls/record.ts";
import { writeAnswerForm, writeCallPrompt } from "../../tasks/questions/prompt.ts";
import { errorClassesOf } from "../../tasks/questions/error_classes.ts";
import {
  type QuestionScores,
  readPrediction,
  scorePrediction,
  type ScoringOptions,
} from "../../tasks/questions/scoring.ts";
import {
  type ApiFunction,
  type CallQuestion,
  type CallSet,
  type CallTruth,
  type Choice,
  documentOf,
  functionsOf,
  isChoice,
  PLACEHOLDER,
  plainTruth,
  resolvedTruth,
} from "../../tasks/questions/question_set.ts";
import { isFault, isLost } from "../../tools/fault.ts";
import { holdsReference } from "../../tools/references/resolve.ts";
import type { AnswerCheck, Fixture, Presented, Work } from "./fixture.ts";
import { cannot } from "../../base/errors.ts";
import {
  asNumbers,
  canonicalJson,
  defined,
  fieldOf,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  printable,
  writtenJson,
} from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import { anyOf, anything, optional } from "../../calls/expected/matchers.ts";
import type { ExpectedCall, ExpectedValue } from "../../tools/expected_call.ts";
import { perturbCase } from "../../perturbations/perturbed_case.ts";
import { usualCallLimit } from "../../perturbations/ids.ts";
import { findParameters } from "../../perturbations/queries/literals.ts";
import { forkSeed } from "../../base/random.ts";
import { questionExamples, type SolvedExample } from "../../tasks/examples.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import type { GeneratedTaskExecutorOptions } from "./generated.ts";
import { schemaOf, type Tool, type ToolChoice, type ToolSchema } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import { MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import { briefQuestion, type QuestionSpec } from "../../tasks/task_kind.ts";

/** How a question is asked and scored, as JSON: results with different keys cannot be compared. */
export function scoringKey(spec: QuestionSpec): string {
  const { question: _, difficulty: __, ...asked } = briefQuestion(spec);
  return canonicalJson(asked);
}

/** A question in one trial. */
export class QuestionExecutor extends Toolbox implements Fixture {
  /** The question as the model gets it. */
  readonly prompt: string;
  /** The system message. */
  readonly system: string | undefined;
  /** The number of true calls. */
  readonly minimumCalls: number;
  /** The domain of the question. */
  readonly domain: string;
  /** Writes functions and question as text, if nothing can be called. */
  readonly present?: (messages: readonly Message[], tools: readonly ToolSchema[]) => Presented;
  /** Returns why an answer cannot be read. */
  readonly unreadable?: (answer: string) => string | undefined;

  /** Returns other questions of the set with their right calls. */
  readonly examples: (count: number) => SolvedExample[];
  /** Writes a list of calls as an answer, if nothing can be called. */
  readonly fromList?: (list: string) => string;

  readonly #question: CallQuestion;
  readonly #functions: readonly ApiFunction[];
  readonly #spec: Required<QuestionSpec>;
  readonly #scoring: ScoringOptions;
  readonly #isBfcl: boolean;

  /**
   * Makes a question. The default call limit is twice the number of true calls, plus those expected to be
   * lost to faults.
   *
   * @throws {InputError} If the set has no such question, or the perturbation is unknown.
   */
  constructor(
    set: CallSet,
    spec: QuestionSpec,
    options: Partial<ExecutorOptions> & Pick<GeneratedTaskExecutorOptions, "perturbation"> = {},
  ) {
    const { perturbation = "none", ...others } = options;
    const question = set.questions.find(({ id }) => id === spec.question);
    if (question === undefined) {
      throw cannot(
        `ask question ${printable(spec.question, 100)}`,
        `the set ${printable(set.name, 100)} has none of that id`,
      );
    }
    assertCallsMade(spec, perturbation);
    const functions = functionsOf(set, question);
    const scoring: ScoringOptions = {
      ...{ rule: spec.rule ?? "published", mode: spec.mode, format: spec.output ?? "json" },
      ...{ comparison: set.comparison, functions },
    };
    const expected = trueCalls(resolvedTruth(question), functions);
    const plain = plainTruth(question.truth);
    const text = messageText(question, "user");
    const server = question.results === undefined ? undefined : mockServer(question, scoring);
    const tools = functions.map(({ name, tool, document }): Tool => ({
      ...tool,
      execute: (input) =>
        Promise.resolve(server?.(name, input) ?? JSON.stringify(placeholderResult(document))),
    }));
    const perturbed = perturbation === "none" ? undefined : perturbCase(
      tools.map(schemaOf),
      { text, parameters: findParameters(text, plain.parameters.flatMap(knownArguments)) },
      perturbation,
      {
        seed: forkSeed(0, "question", set.name, question.id),
        needed: [...new Set(expected.map(({ tool }) => tool))].filter((name) =>
          functions.some(({ tool }) => tool.name === name)
        ),
      },
    );
    super(tools, {
      ...others,
      callLimit: options.callLimit ??
        usualCallLimit(Math.max(1, question.truth.API.length), perturbation),
      clock: null,
      // What is returned is the set's: placeholders, or results that nobody promised to be as declared.
      checksReturns: false,
      perturbed,
      // Where texts need not be the same, no call can be compared with one that is expected.
      expected: spec.mode === "tools" && set.comparison === undefined ? expected : undefined,
    });
    this.#question = question;
    this.#scoring = scoring;
    this.#isBfcl = set.bfcl === true;
    this.#functions = functions;
    this.#spec = { rule: "published", input: "json", output: "json", ...defined(spec) };
    const questionText = perturbed?.query.text ?? text;
    this.prompt = spec.mode !== "tools" || set.bfcl
      ? questionText
      : questionText + (server === undefined ? UNKNOWN_VALUES : REAL_VALUES);
    this.system = messageText(question, "system") || undefined;
    this.minimumCalls = question.truth.API.length;
    this.domain = question.domain;
    this.examples = (count) => questionExamples(set, spec, count);
    if (spec.mode !== "tools") {
      this.present = (messages, tools) => this.#present(messages, tools);
      this.unreadable = (answer) => this.#unreadable(answer);
      this.fromList = (list) => this.#fromList(list);
    }
  }

  /** The tools of the true calls; omitted where no calls are made, or the truth names an unknown function. */
  override get needed(): readonly string[] | undefined {
    const offered = new Set(this.#functions.map(({ tool }) => tool.name));
    return super.needed?.every((name) => offered.has(name)) ? super.needed : undefined;
  }

  /** Whether the calls of the first reply that has any are the answer, as in BFCL. */
  get settled(): boolean {
    return this.#isBfcl && this.calls > 0;
  }

  /** Scores the answer, or the calls that were made. */
  async answer(text: string, rendered: string | undefined, work: Work): Promise<AnswerCheck> {
    this.assertOpen("take an answer");
    const { mode } = this.#spec;
    const truth = this.#truth;
    const prediction = mode === "tools" ? this.#predictedCalls() : text;
    const scores = this.#score(prediction);
    const { unrepaired } = work;
    const compared = mode === "routing" ? [...truth.API] : { ...truth } as unknown as JsonObject;
    const judged = await work.judge?.(prediction, compared);
    this.record({
      kind: "scored",
      question: this.prompt.slice(0, MAX_KEPT_LENGTH),
      output: (typeof prediction === "string" ? prediction : jsonText(prediction))
        .slice(0, MAX_KEPT_LENGTH),
      // A journal has its numbers by value.
      truth: { ...truth, parameters: asNumbers([...truth.parameters]) as JsonValue[] },
      scores,
      unrepaired: unrepaired === undefined ? undefined : this.#score(unrepaired),
      errors: errorClassesOf(
        prediction,
        truth,
        this.#functions.map(({ name }) => name),
        this.#scoring,
      ),
      judged,
    });
    this.end(text, null, rendered);
    if (this.exhausted && !this.#isBfcl) return { outcome: "call_limit", grounded: false };
    const right = mode === "routing" ? scores.routingExact : scores.exact === true;
    if (right) return { outcome: "solved", grounded: true };
    const isSilent = mode === "tools" ? this.calls === 0 : text.trim() === "";
    return { outcome: isSilent ? "no_answer" : "wrong_answer", grounded: false };
  }

  /** The behaviours that a trace of it shows; default: its own. */
  override behaviours(events?: readonly TraceEvent[], toolChoice?: ToolChoice): Behaviour[] {
    return this.#spec.mode === "tools" ? super.behaviours(events, toolChoice) : [];
  }

  #score(prediction: JsonValue): QuestionScores {
    return scorePrediction(prediction, this.#truth, this.#scoring);
  }

  /**
   * The true calls. Made calls always have arguments, and real values where they are declared; a written truth
   * may omit the empty list.
   */
  get #truth(): CallTruth {
    const { truth } = this.#question;
    if (this.#spec.mode !== "tools") return truth;
    const isBare = truth.parameters.length === 0;
    return isBare
      ? { ...truth, parameters: truth.API.map(() => ({})) }
      : resolvedTruth(this.#question);
  }

  /** The calls that were made, in the form of the truth. */
  #predictedCalls(): JsonObject {
    // A tool has another name where providers refuse the function's name.
    const names = new Map(this.#functions.map(({ name, tool }) => [tool.name, name]));
    // A call whose result was lost to a fault must be made again; what an agent did not carry out did not happen.
    const made = recordedCalls(this.events, this.uncut)
      .filter(({ agentDid }) => agentDid === undefined);
    const calls = made.filter(({ step }) => !this.#isBfcl || step === made[0]!.step)
      .map((call) => ({
        call,
        name: names.get(call.tool) ?? call.tool,
        given: (this.#scoring.comparison?.numbers ? writtenJson(call.written) : call.arguments) ??
          call.written,
      }))
      .filter(({ call, name, given }) =>
        !isLost(call) || call.blockedBy !== undefined && !this.#mayBeRight(name, given)
      );
    return { API: calls.map(({ name }) => name), parameters: calls.map(({ given }) => given) };
  }

  /** Whether a call is one of the right ones if its references have the right values. */
  #mayBeRight(name: string, given: JsonValue): boolean {
    const { API, parameters } = this.#truth;
    return API.some((one, place) => {
      const right = parameters[place] ?? {};
      const filled = isJsonObject(given) && isJsonObject(right)
        ? Object.fromEntries(
          Object.entries(given).map(([key, value]) =>
            holdsReference(value) && Object.hasOwn(right, key) ? [key, right[key]!] : [key, value]
          ),
        )
        : given;
      const truth = { API: [one], parameters: [right] };
      const own = { API: [name], parameters: [filled] };
      return scorePrediction(own, truth, this.#scoring).exact === true;
    });
  }

  #present(messages: readonly Message[], tools: readonly ToolSchema[]): Presented {
    const { mode, input, output } = this.#spec;
    const place = messages.findIndex(({ role }) => role === "user");
    const content = writeCallPrompt(this.#documents(tools), messages[place]!.content, {
      mode: mode === "routing" ? "routing" : "parameters",
      input,
      output,
    });
    return { messages: messages.with(place, { role: "user", content }), tools: [] };
  }

  /** The documents of the functions; those changed by a perturbation keep their key order. */
  #documents(tools: readonly ToolSchema[]): JsonObject[] {
    const byTool = new Map(this.#functions.map((own) => [own.tool.name, own]));
    return tools.map((tool) => {
      const apiFunction = byTool.get(tool.name);
      if (apiFunction === undefined) return documentOf(tool);
      const isSame = jsonText(schemaOf(tool)) === jsonText(schemaOf(apiFunction.tool));
      return isSame ? apiFunction.document : inKeyOrderOf(apiFunction.document, documentOf(tool));
    });
  }

  /**
   * A list that is JSON in the asked form answers `parameters` as it is. Of another form only what the list says
   * is scored: its names, or the same calls as JSON, which is YAML too.
   */
  #fromList(list: string): string {
    const { mode, output } = this.#spec;
    if (mode === "parameters" && output === "json") return list;
    const value = readPrediction(list, { ...this.#scoring, format: "json" });
    if (value === undefined) return list;
    if (mode === "parameters") return jsonText(value);
    const names = fieldOf(value, "API");
    if (!Array.isArray(names)) return list;
    const API = names.map((name) => typeof name === "string" ? name : JSON.stringify(name));
    return writeAnswerForm({ API, parameters: [] }, { mode: "routing", output });
  }

  #unreadable(answer: string): string | undefined {
    const { mode, output: format } = this.#spec;
    if (mode === "routing") return undefined;
    return readPrediction(answer, this.#scoring) === undefined
      ? `it is ${format === "json" ? "no JSON" : "no mapping or list in YAML"}`
      : undefined;
  }
}

/** How to call functions that return what is declared. */
const REAL_VALUES =
  `\n\nCall the functions that are needed, in the right order, with values from the question and from the ` +
  `results of earlier calls. NO explanation!`;

/** How to give unknown values: no call returns any, as nothing is really called. */
const UNKNOWN_VALUES =
  `\n\nCall the functions that are needed, in the right order. Where a value cannot be known from the ` +
  `question, give "${PLACEHOLDER}": functions return it in place of values, too. NO explanation!`;

/** Returns a document with its keys in the order of another one. */
function inKeyOrderOf(model: JsonObject, { ...document }: JsonObject): JsonObject {
  const names = Object.keys(model).filter((name) => Object.hasOwn(document, name));
  return { ...Object.fromEntries(names.map((name) => [name, document[name]!])), ...document };
}

function messageText({ messages }: CallQuestion, role: "system" | "user"): string {
  return messages.flatMap((message) => message.role === role ? [message.content] : [])
    .join("\n\n");
}

/** The true calls, by the names of tools. */
function trueCalls(
  { API, parameters }: CallTruth,
  functions: readonly ApiFunction[],
): ExpectedCall[] {
  const offered = new Map(functions.map(({ name, tool }) => [name, tool.name]));
  return API.map((name, place): ExpectedCall => {
    const given = parameters[place];
    return {
      tool: offered.get(name) ?? name,
      arguments: isJsonObject(given) ? trueArguments(given) : {},
    };
  });
}

/**
 * Refuses faults of calls in modes that make no calls.
 *
 * @throws {InputError} If there is such a fault.
 */
export function assertCallsMade({ mode }: Pick<QuestionSpec, "mode">, perturbation: string): void {
  const fault = mode === "tools" ? undefined : perturbation.split("+").find(isFault);
  if (fault === undefined) return;
  throw cannot(
    `ask a question under ${printable(fault, 100)}`,
    `faults are of calls, and in mode ${mode} none are made`,
    "take mode tools",
  );
}

function knownArguments(parameters: JsonValue): { readonly arguments: JsonObject }[] {
  if (!isJsonObject(parameters)) return [];
  const known = Object.entries(parameters).filter(([, value]) => value !== PLACEHOLDER);
  return [{ arguments: Object.fromEntries(known) }];
}

/** A function's documented result, with a placeholder for each value. */
function placeholderResult({ returnParameter, returns = returnParameter }: JsonObject): JsonValue {
  const { type, properties } = isJsonObject(returns) ? returns : {};
  const fields = type === "object" && isJsonObject(properties) ? properties : returns;
  if (!isJsonObject(fields)) return { result: PLACEHOLDER };
  return Object.fromEntries(Object.keys(fields).map((name) => [name, PLACEHOLDER]));
}

/** The arguments of a true call, in which a placeholder matches anything. */
export function trueArguments(truth: JsonObject): Record<string, ExpectedValue> {
  const expectedValue = (value: JsonValue): ExpectedValue =>
    isChoice(value)
      ? expectedChoice(value)
      : value === PLACEHOLDER
      ? anything()
      : Array.isArray(value)
      ? value.map(expectedValue)
      : isJsonObject(value)
      ? trueArguments(value)
      : value;
  const expectedChoice = ({ anyOf: values, optional: isOptional }: Choice): ExpectedValue => {
    const right = values === undefined ? anything() : anyOf(...values.map(expectedValue));
    return isOptional ? optional(right) : right;
  };
  return Object.fromEntries(
    Object.entries(truth).map(([name, value]) => [name, expectedValue(value)]),
  );
}

/**
 * Returns what answers the calls to a question with the results that its set declares: an error to a call that is none
 * of the right ones. Of equal ones each has its own.
 */
function mockServer(question: CallQuestion, scoring: ScoringOptions) {
  const { API, parameters } = resolvedTruth(question);
  /** How often each right call was answered. */
  const answered = API.map(() => 0);
  return (name: string, input: JsonObject): string => {
    const own = { API: [name], parameters: [input] };
    const [place] = API.flatMap((one, place) => {
      const right = { API: [one], parameters: [parameters[place] ?? {}] };
      return scorePrediction(own, right, { ...scoring, mode: "tools" }).exact ? [place] : [];
    }).sort((one, other) => answered[one]! - answered[other]!);
    if (place === undefined) return NO_RESULT;
    answered[place]!++;
    const { result } = question.results![place]!;
    return typeof result === "string" ? result : jsonText(result);
  };
}

/** The answer to a call of which nothing is declared. */
const NO_RESULT = JSON.stringify({ error: "There is nothing for these arguments" });
