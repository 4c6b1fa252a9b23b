/**
 * The simulated model that answers the questions of call sets from their truth.
 * @module
 */

import {
  CALL_FORMATS,
  type CallFormat,
  type CallMode,
  readPrediction,
  scorePrediction,
} from "../tasks/questions/scoring.ts";
import {
  type ApiFunction,
  type CallQuestion,
  type CallSet,
  type CallTruth,
  functionsOf,
  holdsValue,
  PLACEHOLDER,
  plainTruth,
  resolvedTruth,
} from "../tasks/questions/question_set.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
} from "../base/json.ts";
import { fork } from "../base/random.ts";
import { drawnTask } from "../chains/drawn.ts";
import { followChain, questionOf } from "./_chains.ts";
import { readFunctions } from "./_functions.ts";
import { readChosen } from "./_reading.ts";
import {
  drawMistakes,
  type KnownQuestion,
  type MistakeDraws,
  spoilCalls,
  type TruthRates,
} from "./_truth_mistakes.ts";
import {
  type ChatMessage,
  type ChatRequest,
  composeAnswer,
  contentText,
  type OutgoingCall,
  type SimulatedModel,
} from "./_wire.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** The questions whose answers a model knows. */
export interface Truths {
  /**
   * Finds the question that a text consists of, or begins with before a space or line break, as strategies and
   * perturbations append to questions. Returns the longest match, of several the first whose functions are all among
   * the tools on offer, or else the first; `undefined` if there is none.
   */
  find(text: string, tools?: ChatRequest["tools"]): KnownQuestion | undefined;
}

/**
 * Indexes the questions of call sets by text and functions, as a model sees no more. The time to find one does not
 * depend on the length of the text after it.
 */
export function truthsOf(sets: readonly CallSet[]): Truths {
  const byText = new Map<string, KnownQuestion[]>();
  for (const set of sets) {
    for (const question of set.questions) {
      const text = question.messages
        .flatMap(({ role, content }) => role === "user" ? [content] : [])
        .join("\n\n").trim();
      const functions = functionsOf(set, question);
      const truth = plainTruth(question.truth);
      const known = { question: { ...question, truth }, functions, atOnce: set.bfcl === true };
      getOrInsertComputed(byText, text, () => []).push(known);
    }
  }
  const lengths = [...new Set(Array.from(byText.keys(), (text) => text.length))]
    .sort((one, other) => other - one);
  return {
    find(text, tools) {
      const offered = new Set(tools?.map((tool) => tool.function.name));
      const question = text.trim();
      for (const length of lengths) {
        if (length > question.length || /^\S/.test(question.charAt(length))) continue;
        const known = byText.get(question.slice(0, length));
        if (known === undefined) continue;
        return known.find(({ functions }) =>
          functions.every(({ tool }) => offered.has(tool.name))
        ) ??
          known[0];
      }
    },
  };
}

/** Options of a model that knows the truth. */
export interface TruthOptions {
  /** The rates of its mistakes. */
  readonly rates: TruthRates;
  /** The seed of its mistakes. */
  readonly seed: number;
}

/** The reply to unknown questions. */
const DO_NOT_KNOW = "I do not know.";
/** The reply after all calls are made. */
const DONE = "I have made all calls.";
/** The mark after a complete list. */
const STOP = "<!stop>";

/**
 * A simulated model that gives the true answers to the questions of `truths`, but errs as `options` say. It
 * writes calls or names in the requested format, makes calls one after another if there are tools, writes the
 * plans and lists that strategies request, repairs its answers, and rates answers by {@linkcode ratingOf}. To
 * an unknown question it replies that it does not know. Of chains it knows those that were drawn in this process.
 *
 * Mistakes depend on the seed, the `seed` field of the request, the question and the kind, so that runs with
 * different modes, formats or strategies share them; but it takes no wrong function that it is not offered. Plans and lists have the same wrong calls as the answer;
 * `syntax` and `fence` affect answers, and lists that are scored as such, and not repaired ones. A repaired call has the true arguments. For
 * `judge`, prediction and truth replace the question.
 */
export function createTruth(name: string, truths: Truths, options: TruthOptions): SimulatedModel {
  return {
    name,
    reply(request) {
      const task = readTruthRequest(request);
      if (task.kind === "judge") {
        return composeAnswer(name, request, writeRating(task, request, options), []);
      }
      const chain = drawnTask(
        task.question,
        new Map(request.tools?.map(({ function: own }) => [own.name, own.parameters])),
      );
      if (chain !== undefined && task.kind === "call") {
        const draws = { ...options, repetition: request.seed ?? 0 };
        const { text, calls } = followChain(chain, request.messages, draws);
        return composeAnswer(name, request, text, calls);
      }
      const found = chain === undefined
        ? truths.find(task.question, request.tools)
        : questionOf(chain);
      if (found === undefined) return composeAnswer(name, request, DO_NOT_KNOW, []);
      const known = task.kind === "call" ? withValues(found) : found;
      const drawn = new Mistakes(known, request, options);
      if (task.kind !== "call") return composeAnswer(name, request, writeText(task, drawn), []);
      const calls = callNext(request, known, drawn, task.repair);
      const text = calls.length === 0 ? DONE : `I call ${calls[0]!.name}.`;
      return composeAnswer(name, request, text, calls);
    },
  };
}

/** The question with real values in its right calls, as far as its set declares them. */
function withValues({ question, ...others }: KnownQuestion): KnownQuestion {
  return { ...others, question: { ...question, truth: resolvedTruth(question) } };
}

/**
 * The arguments of a call, without values that only a result could give and none has given: the model knows the
 * right calls, and yet takes what they return from the conversation.
 */
function asSeen(
  given: JsonObject,
  { results = [] }: CallQuestion,
  messages: readonly ChatMessage[],
): JsonObject {
  const looked = new Set(
    results.flatMap(({ values = {} }) =>
      Object.entries(values).flatMap((entry) =>
        results.some(({ result }) => holdsValue(result, entry[1])) ? [canonicalJson(entry)] : []
      )
    ),
  );
  const told = messages.flatMap((message): JsonValue[] => {
    if (message.role !== "tool") return [];
    const text = contentText(message.content);
    return [parseJson(text) ?? text];
  });
  return Object.fromEntries(
    Object.entries(given).map((entry) => {
      const [name, value] = entry;
      const isUnknown = looked.has(canonicalJson(entry)) &&
        !told.some((result) => holdsValue(result, value));
      return [name, isUnknown ? PLACEHOLDER : value];
    }),
  );
}

/** Whether a request offers a function: another one is not taken in its place by mistake. */
function isOffered(
  { name, tool }: ApiFunction,
  { messages, tools }: ChatRequest,
): boolean {
  if (tools != null && tools.length > 0) {
    return tools.some((offered) => offered.function.name === tool.name);
  }
  // Names with other characters are written in ways of their own.
  return !/^[\w.:-]+$/.test(name) ||
    messages.some(({ role, content }) => role === "user" && contentText(content).includes(name));
}

/** The mistakes in the answers to one question. */
class Mistakes {
  readonly #draws: MistakeDraws;

  constructor(readonly known: KnownQuestion, readonly request: ChatRequest, options: TruthOptions) {
    this.#draws = { ...options, repetition: request.seed ?? 0 };
  }

  mistakes(mode: CallMode) {
    return drawMistakes(this.known, mode, this.#draws);
  }

  /** The calls of the answer, with the mistakes that `isMade` allows. */
  calls(isMade: (mistake: string) => boolean = () => true): CallTruth {
    const mistakes = this.mistakes("tools").filter(isMade);
    const calls = spoilCalls(this.known, mistakes, this.#draws);
    const { question: { truth }, functions } = this.known;
    const offered = functions.filter((one) => isOffered(one, this.request));
    const taken = new Set([...truth.API, ...offered.map(({ name }) => name)]);
    // Some requests show no functions at all.
    if (offered.length === 0 || calls.API.every((name) => taken.has(name))) return calls;
    return spoilCalls(this.known, mistakes.filter((one) => one !== "route"), this.#draws);
  }
}

/** The text of a reply to a request without tools. */
function writeText(task: Exclude<QuestionRequest, { kind: "call" }>, drawn: Mistakes): string {
  const calls = drawn.calls();
  switch (task.kind) {
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
      return `${writeAnswer(calls, "json", textMistakes(drawn, "parameters"))} ${STOP}`;
    case "answer": {
      const { form, again } = task;
      const mode = form === "names" ? "routing" : "parameters";
      return writeAnswer(calls, form, again ? undefined : textMistakes(drawn, mode));
    }
  }
}

/** The mistakes in the form of a text. */
function textMistakes(drawn: Mistakes, mode: CallMode): TextMistakes {
  const mistakes = drawn.mistakes(mode);
  return { cut: mistakes.includes("syntax"), fenced: mistakes.includes("fence") };
}

/** The next call, if there is one: each is made in a separate reply, but for questions that take all in one. */
function callNext(
  { messages, tools, tool_choice: choice }: ChatRequest,
  { functions, question, atOnce }: KnownQuestion,
  drawn: Mistakes,
  repair: boolean,
): OutgoingCall[] {
  if (choice === "none") return [];
  const { API, parameters } = drawn.calls((mistake) => !repair || mistake === "route");
  const callsMade = messages.reduce(
    (sum, message) => sum + (message.role === "assistant" ? message.tool_calls?.length ?? 0 : 0),
    0,
  );
  const chosen = readChosen(choice);
  const must = choice === "required" || chosen !== undefined;
  // If a call is required after the last one, that is repeated.
  const next = must ? Math.min(callsMade, API.length - 1) : callsMade;
  const places = must || !atOnce ? [next] : callsMade > 0 ? [] : [...API.keys()];
  return places.flatMap((place) => {
    const trueName = API[place] === PLACEHOLDER ? functions[0]?.name : API[place];
    const tool = functions.find((one) => one.name === trueName)?.tool.name ?? trueName;
    const name = chosen ?? tool ?? (must ? tools?.[0]?.function.name : undefined);
    if (name === undefined) return [];
    const args = name === tool ? parameters[place] : undefined;
    const values = new Map(
      isJsonObject(args) ? Object.entries(asSeen(args, question, messages)) : [],
    );
    const offered = tools?.find((one) => one.function.name === name)?.function;
    const result = offered && readFunctions([offered]).get(name)?.result;
    if (result !== undefined) values.set(result, `@result_${callsMade + 1}`);
    return [{ name, arguments: values }];
  });
}

/** A rating, or a reply without one. */
function writeRating(
  { prediction, truth }: Extract<TruthRequest, { kind: "judge" }>,
  request: ChatRequest,
  { rates, seed }: TruthOptions,
): string {
  const { prng } = fork(seed, request.seed ?? 0, prediction, truth, "judge");
  if (prng() < rates.judge) return "They are alike in parts.";
  return `[[${ratingOf(prediction, truth).toFixed(3)}]]`;
}

/**
 * Rates a prediction: 1 if it is right by the published rule, 0 if it cannot be parsed, else one half.
 *
 * @param truth The truth as JSON, `{API, parameters}`.
 */
function ratingOf(prediction: string, truth: string): number {
  const predictedCalls = readCalls(parsePrediction(prediction));
  const trueCalls = readCalls(parseJson(truth));
  if (predictedCalls === undefined || trueCalls === undefined) return 0;
  return scorePrediction(predictedCalls, trueCalls, { mode: "tools" }).exact ? 1 : 0.5;
}

/** Parses a prediction in any format. */
function parsePrediction(text: string): JsonValue | undefined {
  for (const format of CALL_FORMATS) {
    const value = readPrediction(text, { format });
    if (isJsonObject(value) || Array.isArray(value)) return value;
  }
}

/** Reads calls, or names alone. */
function readCalls(
  value: JsonValue | undefined,
): { API: string[]; parameters: JsonValue[] } | undefined {
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

/** A parsed request. */
type TruthRequest =
  /** A rating of a prediction. */
  | { readonly kind: "judge"; readonly prediction: string; readonly truth: string }
  | QuestionRequest;

/** A request about a question; `question` is its text, perhaps with more after it. */
type QuestionRequest =
  & { readonly question: string }
  & (
    /** Native calls. */
    | { readonly kind: "call"; readonly repair: boolean }
    /** Calls as text; `again` if the answer before could not be parsed. */
    | { readonly kind: "answer"; readonly form: AnswerForm; readonly again: boolean }
    /** Earlier stages of strategies: a plan, names, the last call, and the whole list. */
    | { readonly kind: "plan" | "route" | "final" | "missing" }
  );

/** Parses a request by the text around the question, as the question may contain anything. */
function readTruthRequest({ messages, tools }: ChatRequest): TruthRequest {
  const texts = messages.filter(({ role }) => role === "user")
    .map(({ content }) => contentText(content));
  const first = texts[0] ?? "";
  const last = texts.at(-1) ?? "";
  if ((tools ?? []).length > 0) {
    const repair = texts.length > 1 && messages.at(-1)?.role === "user" &&
      last.startsWith("The following tool call has invalid arguments");
    return { kind: "call", question: first, repair };
  }
  const judgeRequest = readJudged(first);
  if (judgeRequest !== undefined) return judgeRequest;
  const { question, after } = readQuestion(first);
  if (texts.length === 1) return { question, ...readKind(after) };
  // Such a message quotes the answer, which may contain anything.
  const again = last.startsWith("The following answer cannot be read");
  const isMissing = !again && last.includes("fill in the missing information");
  if (isMissing) return { kind: "missing", question };
  return { kind: "answer", question, form: formOf(after), again };
}

/** The prediction and truth for a judge, which do not contain the delimiters (CallNavi, appendix B.2). */
function readJudged(text: string): TruthRequest | undefined {
  const [, prediction, truth] = JUDGED.exec(text) ?? [];
  return prediction === undefined || truth === undefined
    ? undefined
    : { kind: "judge", prediction, truth };
}

const JUDGED = new RegExp(
  "^You will be given a predicted API calling JSON and ground truth couple\\.[^]*?" +
    "\n======Begin predict JSON======\n([^]*?)\n======End of predict JSON======\n" +
    "======Begin of ground truth JSON======\n([^]*?)\n======End of ground truth JSON======",
);

// No line of a list of functions in JSON or YAML begins like these, but a line of a question may.
const BEFORE = "\n=======API list end=======\n=======Question start=======\n";
const BEHIND = "\n=======Question end=======\n";
const LISTED = "\n\nThese functions are on offer, as a JSON list:\n";

/** The question of a prompt, and the text after it. */
function readQuestion(text: string): { readonly question: string; readonly after: string } {
  const start = text.indexOf(BEFORE);
  const end = text.lastIndexOf(BEHIND);
  const listed = text.lastIndexOf(LISTED);
  if (listed > end) return { question: text.slice(0, listed), after: text.slice(listed) };
  if (start === -1 || end < start) return { question: text, after: "" };
  return { question: text.slice(start + BEFORE.length, end), after: text.slice(end) };
}

function readKind(after: string) {
  if (after.startsWith(LISTED)) return { kind: "plan" } as const;
  if (after.includes("a correct last one task API name")) return { kind: "final" } as const;
  if (after.includes("the correct API names to call")) return { kind: "route" } as const;
  return { kind: "answer", form: formOf(after), again: false } as const;
}

function formOf(after: string): AnswerForm {
  if (after.includes("only API names in brackets")) return "names";
  return after.includes("in YAML style") ? "yaml" : "json";
}

/** The form of an answer: names in brackets, or calls with their arguments. */
export type AnswerForm = "names" | CallFormat;

/** The mistakes in a text. */
export interface TextMistakes {
  /** Whether it is cut off so that it cannot be parsed. */
  readonly cut: boolean;
  /** Whether it is in a fenced code block. */
  readonly fenced: boolean;
}

/**
 * Writes an answer with these calls, which parses by either rule unless it is cut. A list of names that is cut
 * lacks the last one.
 */
export function writeAnswer(
  calls: CallTruth,
  form: AnswerForm,
  { cut, fenced }: TextMistakes = { cut: false, fenced: false },
): string {
  const text = cut ? CUT[form](calls) : WHOLE[form](calls);
  // A list of names has no language to name in the fence.
  return fenced ? `\`\`\`${form === "names" ? "" : form}\n${text}\n\`\`\`` : text;
}

type WriteCalls = (calls: CallTruth) => string;

const WHOLE: Readonly<Record<AnswerForm, WriteCalls>> = {
  names: ({ API }) => `[${API.map(quoted).join(", ")}]`,
  json: ({ API, parameters }) => `{"API": ${jsonList(API)}, "parameters": ${jsonList(parameters)}}`,
  yaml: ({ API, parameters }) =>
    `API:${yamlList(API.map((name) => [safeJson(name)]))}\n` +
    `parameters:${yamlList(parameters.map(yamlLines))}`,
};

const CUT: Readonly<Record<AnswerForm, WriteCalls>> = {
  names: ({ API }) =>
    `[${API.map((name, place) => place + 1 < API.length ? quoted(name) : "'").join(", ")}`,
  json: (calls) => openEnded(WHOLE.json(calls)),
  yaml: (calls) => openEnded(WHOLE.yaml(calls)),
};

/** Cuts a text before its last string or list is closed, so that it cannot be parsed. */
function openEnded(text: string): string {
  const quote = text.lastIndexOf('"');
  return text.slice(0, quote === -1 ? text.lastIndexOf("]") : quote);
}

function quoted(name: string): string {
  return name.includes("'") ? `"${name}"` : `'${name}'`;
}

/** A value as JSON that both rules parse correctly: the published one replaces ' by " and deletes fences. */
function safeJson(value: JsonValue): string {
  return jsonText(value).replaceAll("'", "\\u0027").replaceAll("`", "\\u0060");
}

function jsonList(values: readonly JsonValue[]): string {
  return `[${values.map(safeJson).join(", ")}]`;
}

/** A YAML list of items, each given as lines. */
function yamlList(items: readonly (readonly string[])[]): string {
  if (items.length === 0) return " []";
  return items.map(([first, ...others]) =>
    [`\n  - ${first}`, ...others.map((line) => `    ${line}`)].join("\n")
  ).join("");
}

/** Each key of an object on its own line, with JSON values, as JSON is valid YAML. */
function yamlLines(value: JsonValue): string[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [safeJson(value)];
  return Object.entries(value).map(([key, own]) => `${safeJson(key)}: ${safeJson(own)}`);
}

/** A plan: one numbered step for each call. */
export function writePlan({ API, parameters }: CallTruth): string {
  const steps = API.map((name, place) =>
    `${place + 1}. ${name}(${safeJson(parameters[place] ?? {})})`
  );
  return [...steps, "The answer is what these calls return."].join("\n");
}
