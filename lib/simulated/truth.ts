/**
 * The simulated model that answers the questions of call sets from their truth.
 * @module
 */

import {
  CALL_FORMATS,
  type CallMode,
  readPrediction,
  scorePrediction,
} from "../tasks/questions/scoring.ts";
import type { CallSet, CallTruth } from "../tasks/questions/question_set.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { fork } from "../base/random.ts";
import { readFunctions } from "./functions.ts";
import { readChosen } from "./reading.ts";

import { drawMistakes, type KnownQuestion, spoilCalls, type TruthRates } from "./truth_mistakes.ts";
import { type Asked, type AskedOf, readAsked } from "./truth_reading.ts";
import { writeAnswer, writePlan } from "./truth_writing.ts";
import { type ChatRequest, composeAnswer, type OutgoingCall, type SimulatedModel } from "./wire.ts";

/** The questions that a model knows the answers to. */
export interface Truths {
  /**
   * The question that a text is, or begins with where it goes on after a space or a line break: strategies
   * and perturbations put something behind questions. Of several it is the longest; `undefined` if none is
   * known.
   */
  find(text: string): KnownQuestion | undefined;
}

/**
 * The questions of call sets. They are found by their texts alone, as a model sees no more: of several with
 * the same text the first counts. The time to find one does not grow with what stands behind it.
 *
 * @example Usage
 * ```ts
 * import { truthsOf } from "./truth.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const question = {
 *   id: "w1",
 *   domain: "weather",
 *   messages: [{ role: "user", content: "Will it rain in Oslo?" }] as const,
 *   truth: { API: ["forecast"], parameters: [{ city: "Oslo" }] },
 *   difficulty: "easy",
 * } as const;
 * const domains = new Map([["weather", []]]);
 * const truths = truthsOf([{ name: "s", hash: "", domains, questions: [question], warnings: [] }]);
 * assertEquals(truths.find("Will it rain in Oslo? I hope not.")?.question.id, "w1");
 * assertEquals(truths.find("Will it rain in Rome?"), undefined);
 * ```
 */
export function truthsOf(sets: readonly CallSet[]): Truths {
  const byText = new Map<string, KnownQuestion>();
  for (const { questions, domains } of sets) {
    for (const question of questions) {
      const text = question.messages
        .flatMap(({ role, content }) => role === "user" ? [content] : [])
        .join("\n\n").trim();
      const functions = domains.get(question.domain) ?? [];
      if (!byText.has(text)) byText.set(text, { question, functions });
    }
  }
  const lengths = [...new Set(Array.from(byText.keys(), (text) => text.length))]
    .sort((one, other) => other - one);
  return {
    find(text) {
      const asked = text.trim();
      for (const length of lengths) {
        if (length > asked.length || /^\S/.test(asked.charAt(length))) continue;
        const known = byText.get(asked.slice(0, length));
        if (known !== undefined) return known;
      }
    },
  };
}

/** How a model that knows the truth errs. */
export interface TruthOptions {
  /** The rates of its mistakes. */
  readonly rates: TruthRates;
  /** What its mistakes are drawn from. */
  readonly seed: number;
}

/** What is said of questions that are not known. */
const DO_NOT_KNOW = "I do not know.";
/** What is said when all calls are made. */
const DONE = "I have made all calls.";
/** Stands behind a list that is complete. */
const STOP = "<!stop>";

/**
 * A simulated model that answers the questions of `truths` as their truth says, but errs as `options` say. It
 * writes calls or names in the form that the prompt asks for, makes calls one after another where there are
 * tools, writes the plans and lists that strategies ask for, repairs what it has written, and rates answers
 * by {@linkcode likenessOf}. A question that it does not know it answers so.
 *
 * Mistakes are drawn per seed, `seed` field of the request, question and kind, so that runs that differ in
 * mode, format or strategy share them. Plans and lists have those of the answer in what is called; `syntax`
 * and `fence` are of answers alone, and gone when an answer is repaired. A call that is repaired has the true
 * arguments. For `judge`, prediction and truth stand in the question's place.
 */
export function createTruth(name: string, truths: Truths, options: TruthOptions): SimulatedModel {
  return {
    name,
    reply(request) {
      const asked = readAsked(request);
      if (asked.kind === "judge") {
        return composeAnswer(name, request, rate(asked, request, options), []);
      }
      const known = truths.find(asked.question);
      if (known === undefined) return composeAnswer(name, request, DO_NOT_KNOW, []);
      const drawn = new Drawn(known, request, options);
      if (asked.kind !== "call") return composeAnswer(name, request, write(asked, drawn), []);
      const calls = callNext(request, known, drawn, asked.repair);
      const text = calls.length === 0 ? DONE : `I call ${calls[0]!.name}.`;
      return composeAnswer(name, request, text, calls);
    },
  };
}

/** The mistakes in the answers to one question. */
class Drawn {
  readonly #known: KnownQuestion;
  readonly #options: TruthOptions;
  readonly #repetition: number;

  constructor(known: KnownQuestion, { seed }: ChatRequest, options: TruthOptions) {
    this.#known = known;
    this.#options = options;
    this.#repetition = seed ?? 0;
  }

  mistakes(mode: CallMode) {
    return drawMistakes(this.#known, mode, { ...this.#options, repetition: this.#repetition });
  }

  /** The calls of the answer, without some of the mistakes. */
  calls(isMade: (mistake: string) => boolean = () => true): CallTruth {
    const { seed } = this.#options;
    const mistakes = this.mistakes("tools").filter(isMade);
    return spoilCalls(this.#known, mistakes, { seed, repetition: this.#repetition });
  }
}

/** What is written where nothing can be called. */
function write(asked: Exclude<AskedOf, { kind: "call" }>, drawn: Drawn): string {
  const calls = drawn.calls();
  switch (asked.kind) {
    case "plan":
      return writePlan(calls);
    case "route":
      return writeAnswer(calls, "names");
    case "final":
      return writeAnswer(
        { API: calls.API.slice(-1), parameters: calls.parameters.slice(-1) },
        "json",
      );
    case "missing":
      return `${writeAnswer(calls, "json")} ${STOP}`;
    case "answer": {
      const { form, again } = asked;
      const made = drawn.mistakes(form === "names" ? "routing" : "parameters");
      return writeAnswer(calls, form, {
        cut: !again && made.includes("syntax"),
        fenced: !again && made.includes("fence"),
      });
    }
  }
}

/** The next call, if there is one: each has a reply of its own. */
function callNext(
  { messages, tools, tool_choice: choice }: ChatRequest,
  { functions }: KnownQuestion,
  drawn: Drawn,
  repair: boolean,
): OutgoingCall[] {
  if (choice === "none") return [];
  const { API, parameters } = drawn.calls((mistake) => !repair || mistake === "route");
  const made = messages.reduce(
    (sum, message) => sum + (message.role === "assistant" ? message.tool_calls?.length ?? 0 : 0),
    0,
  );
  const chosen = readChosen(choice);
  const must = choice === "required" || chosen !== undefined;
  // Where a call is demanded, the last one is made again.
  const place = must ? Math.min(made, API.length - 1) : made;
  const own = API[place];
  const tool = functions.find((one) => one.name === own)?.tool.name ?? own;
  const name = chosen ?? tool ?? (must ? tools?.[0]?.function.name : undefined);
  if (name === undefined) return [];
  const given = name === tool ? parameters[place] : undefined;
  const values = new Map(isJsonObject(given) ? Object.entries(given) : []);
  const offered = tools?.find((one) => one.function.name === name)?.function;
  const result = offered && readFunctions([offered]).get(name)?.result;
  if (result !== undefined) values.set(result, `@result_${made + 1}`);
  return [{ name, arguments: values }];
}

/** A rating, or a reply without one. */
function rate(
  { prediction, truth }: Extract<Asked, { kind: "judge" }>,
  request: ChatRequest,
  { rates, seed }: TruthOptions,
): string {
  const { prng } = fork(seed, request.seed ?? 0, prediction, truth, "judge");
  if (prng() < rates.judge) return "They are alike in parts.";
  return `[[${likenessOf(prediction, truth).toFixed(3)}]]`;
}

/**
 * How like a prediction is to the truth: 1 where it is right by the published rule, 0 where it cannot be
 * read, and else the share of names and arguments that are right, which is below 1.
 *
 * @param truth The truth as JSON, `{API, parameters}`.
 *
 * @example Usage
 * ```ts
 * import { likenessOf } from "./truth.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const truth = '{"API":["getBalance"],"parameters":[{"account":"7"}]}';
 * assertEquals(likenessOf("{'API': ['getBalance'], 'parameters': [{'account': '7'}]}", truth), 1);
 * assertEquals(likenessOf("{'API': ['getBalance'], 'parameters': [{'account': '8'}]}", truth), 0.5);
 * ```
 */
export function likenessOf(prediction: string, truth: string): number {
  const given = readCalls(predicted(prediction));
  const expected = readCalls(parseJson(truth));
  if (given === undefined || expected === undefined) return 0;
  if (scorePrediction(given, expected, { mode: "tools" }).exact) return 1;
  const places = Math.max(given.API.length, expected.API.length);
  let parts = 0;
  let right = 0;
  for (let place = 0; place < places; place++) {
    parts++;
    const isNamed = given.API[place] === expected.API[place];
    if (isNamed) right++;
    const [own, wanted] = [given, expected].map(({ parameters }) => parameters[place]);
    for (const [key, value] of isJsonObject(wanted) ? Object.entries(wanted) : []) {
      parts++;
      if (isNamed && isJsonObject(own) && agrees(own, key, value)) right++;
    }
  }
  return parts === 0 ? 0 : Math.min(right / parts, BELOW_RIGHT);
}

/** The most that is not right comes to; it must not be rounded to 1. */
const BELOW_RIGHT = 0.999;

type Calls = { API: string[]; parameters: JsonValue[] };

/** A prediction in either format. */
function predicted(text: string): JsonValue | undefined {
  for (const format of CALL_FORMATS) {
    const value = readPrediction(text, { format });
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
}

/** Calls, or names alone. */
function readCalls(value: JsonValue | undefined): Calls | undefined {
  if (Array.isArray(value)) return { API: value.filter(isText), parameters: [] };
  if (!isJsonObject(value)) return undefined;
  const { API, parameters } = value;
  return {
    API: Array.isArray(API) ? API.filter(isText) : [],
    parameters: Array.isArray(parameters) ? parameters : [],
  };
}

function isText(value: JsonValue): value is string {
  return typeof value === "string";
}

/** Whether one argument is right, by the published rule. */
function agrees(given: JsonObject, key: string, expected: JsonValue): boolean {
  if (!Object.hasOwn(given, key)) return false;
  const calls = (value: JsonValue) => ({
    API: [key],
    parameters: [Object.fromEntries([[key, value]])],
  });
  return scorePrediction(calls(given[key]!), calls(expected), { mode: "tools" }).exact === true;
}
