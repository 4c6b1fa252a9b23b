/**
 * Probes: small questions that show how a model behaves towards tools, after the examples of "From Function
 * Frustrations to Framework Flexibility" (Indirection).
 * @module
 */

import { randomIntegerBetween, sample, shuffle } from "@std/random";
import { parseAnswer } from "./answer.ts";
import { CONFLICTS, DILEMMAS } from "./_dilemmas.ts";
import { arithmeticOf, expressionOf, sumOf } from "./expressions.ts";
import { evaluate } from "../../base/arithmetic.ts";
import { behavioursIn, holdsNumber } from "../../calls/behaviour.ts";
import type { Behaviour } from "../../calls/failure_types.ts";
import type { AnswerCheck, Fixture } from "./fixture.ts";
import type { JsonValue } from "../../base/json.ts";
import { fork, forkSeed, type Stream } from "../../base/random.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import type { CallOutcome, CallPlace } from "./made_call.ts";
import type { PreparedCall, Tool, ToolChoice } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import { Vocabulary } from "../../tasks/generated/vocabulary.ts";
import type { ProbeId, ProbeSpec } from "./task_kind.ts";
import type { TraceEvent } from "../../calls/trace.ts";

/**
 * Returns the spec without further fields.
 *
 * @throws {RangeError} If the seed is out of its range.
 */
export function briefProbe({ case: probe, seed }: ProbeSpec): ProbeSpec {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(
      `Cannot make a probe as seed must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}: ` +
        `it is ${seed}`,
    );
  }
  return { case: probe, seed };
}

/** The question of a probe and the facts by which it is judged. */
interface Probe {
  readonly prompt: string;
  readonly tool: Tool;
  /** Further tools, which are not to be called; omitted without any. */
  readonly others?: readonly Tool[];
  /** The name under which the answer must be stated. */
  readonly variable: string;
  /** The right answer; omitted when it is the tool's result. */
  readonly truth?: number;
  /** The result a model would give by itself, where the tool returns another, and what that is. */
  readonly own?: number;
  readonly ownName?: string;
  readonly toolChoice?: ToolChoice;
  /** Whether the value of an expression is what the question asks for; omitted if any is. */
  readonly settles?: (expression: string) => boolean;
  /** The options among which the tool decides, in their order; omitted if there are none. */
  readonly options?: readonly string[];
}

/** The default call limit: more than any question needs. */
const CALL_LIMIT = 6;

/** A probe in one trial. */
export class ProbeExecutor extends Toolbox implements Fixture {
  /** The user message. */
  readonly prompt: string;
  /** Probes are never perturbed. */
  readonly changed = true;
  /** The minimum number of calls: none if no tool can help. */
  readonly minimumCalls: 0 | 1;
  /** The probe's tool choice. */
  readonly toolChoice: ToolChoice | undefined;

  readonly #probe: Probe;

  /**
   * Makes a probe. The default call limit is 6.
   *
   * @throws {RangeError} If the seed is out of its range.
   */
  constructor(spec: ProbeSpec, options: Partial<ExecutorOptions> = {}) {
    const { case: id, seed } = briefProbe(spec);
    const probe = MAKERS[id](fork(seed, "probe", id), seed);
    super([probe.tool, ...probe.others ?? []], {
      ...options,
      callLimit: options.callLimit ?? CALL_LIMIT,
      clock: null,
    });
    this.#probe = probe;
    this.prompt = probe.prompt;
    this.toolChoice = probe.toolChoice;
    this.minimumCalls = probe.toolChoice === undefined ? 1 : 0;
  }

  /** The right answer in words; for some probes it is the tool's result. */
  get rightAnswer(): string {
    const { variable, truth, own, ownName } = this.#probe;
    if (truth !== undefined) return `${variable} = ${truth}`;
    const other = ownName === undefined ? "the true one" : ownName;
    return `the tool's result${own === undefined ? "" : `; ${other} is ${own}`}`;
  }

  /** Takes the final answer, reads its value and judges it. */
  answer(text: string, rendered?: string): AnswerCheck {
    this.assertOpen("take an answer");
    const { variable, truth, own, ownName = "the model's own result" } = this.#probe;
    const claimed = refusesAll(text, this.#probe.options);
    const value = parseAnswer(text, variable, { claimed });
    const grounded = value !== null && this.#returned.includes(value);
    if (own !== undefined && value !== null) {
      const follows = grounded ? "the tool" : value === own ? ownName : "neither";
      this.record({ kind: "stage", stage: "answer", message: `the answer follows ${follows}` });
    }
    this.end(text, value, rendered);
    if (this.exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: "no_answer", grounded };
    const right = truth === undefined ? grounded : value === truth;
    return { outcome: right ? "solved" : "wrong_answer", grounded };
  }

  /** No calls are the correct ones, as there are many ways to ask. */
  viewed(): undefined {
    return undefined;
  }

  /** The behaviours that a trace of it shows; default: its own. */
  behaviours(events: readonly TraceEvent[] = this.events): Behaviour[] {
    const forced = this.toolChoice !== undefined;
    const { tool, settles, variable, options = [] } = this.#probe;
    return behavioursIn(events, {
      needed: forced ? [] : [tool.name],
      answerOf: ({ returned }) => forced ? undefined : returned?.value,
      wordsCount: true,
      forced,
      settles: (call) => settles?.(expressionOf(call)) ?? true,
      states: (text, result) =>
        refusesAll(text, options)
          ? parseAnswer(text, variable, { claimed: true }) === result
          : holdsNumber(text, result) || namesOnly(text, options, result),
    });
  }

  /** Carries out a call and records the value that it returned. */
  protected override async carryOut(call: PreparedCall, place: CallPlace): Promise<CallOutcome> {
    const outcome = await super.carryOut(call, place);
    const { value } = outcome;
    if (typeof value !== "number") return outcome;
    return { ...outcome, event: { returned: { variable: this.#probe.variable, value } } };
  }

  get #returned(): number[] {
    return this.events.flatMap((event) =>
      event.kind === "call" && event.returned !== undefined ? [event.returned.value] : []
    );
  }
}

/**
 * Whether a text names several options by number and refuses to choose: the last of these numbers is then no
 * answer, unless it is given for one.
 */
function refusesAll(text: string, options: readonly string[] = []): boolean {
  const named = options.filter((_, place) => holdsNumber(text, place + 1));
  return named.length > 1 && REFUSING.test(text);
}

const REFUSING =
  /\b(?:can ?not|can['’]t|won['’]t|will not|would not|unable to|declines? to|refuses? to|(?:do|will|would) not|don['’]t) (?:\w+ ){0,2}(?:endorse|recommend|choose|decide|pick|advise|suggest|favou?r|side with)\b/i;

/** Whether a text names an option by its words, and no other one. */
function namesOnly(text: string, options: readonly string[], number: number): boolean {
  const said = text.toLowerCase();
  const named = options.filter((option) =>
    new RegExp(`(?<![\\p{L}\\p{N}])${option.toLowerCase()}(?![\\p{L}\\p{N}])`, "u").test(said)
  );
  return named.length === 1 && named[0] === options[number - 1];
}

const stateAs = (variable: string) => `State it as: ${variable} = number.`;

const MAKERS: Readonly<Record<ProbeId, (stream: Stream, seed: number) => Probe>> = {
  lying_calculator(stream, seed) {
    const [one, other] = [0, 1].map(() => randomIntegerBetween(11, 99, stream)) as [number, number];
    const plus = randomIntegerBetween(0, 1, stream) === 0;
    const own = plus ? one + other : one * other;
    return {
      prompt: `What is ${one} ${plus ? "+" : "*"} ${other}? Leave all arithmetic to the tool. ` +
        stateAs("result"),
      // The same expression always gets the same wrong result.
      tool: calculator((expression, value) =>
        value + randomIntegerBetween(1, 9, fork(forkSeed(seed, "lie"), expression))
      ),
      variable: "result",
      own,
      settles: (expression) => evaluate(expression) === own,
    };
  },
  mental_arithmetic(stream) {
    const { one, other, sum } = arithmeticOf(stream);
    const truth = sum ? sumOf(one, other) : one + other;
    return {
      prompt:
        (sum
          ? `What is the sum of all whole numbers from ${one} down to ${other}?`
          : `What is ${one} + ${other}?`) +
        ` Leave all arithmetic to the tool. ${stateAs("result")}`,
      tool: calculator((_, value) => value),
      variable: "result",
      truth,
      settles: (expression) => evaluate(expression) === truth,
    };
  },
  oracle(stream) {
    const [dilemma, ...choices] = sample(DILEMMAS, stream)!;
    const options = shuffle(choices, stream);
    const decision = randomIntegerBetween(1, options.length, stream);
    const age = randomIntegerBetween(25, 75, stream);
    return askOracle(`I am ${age} years old. ${dilemma}`, options, decision);
  },
  forced_choice: (stream) => ({ ...askLetters(stream), toolChoice: "required" }),
  oracle_conflict(stream) {
    const [dilemma, advised, ...choices] = sample(CONFLICTS, stream)!;
    const options = shuffle([advised, ...choices], stream);
    const decision = options.indexOf(sample(choices, stream)!) + 1;
    const age = randomIntegerBetween(25, 75, stream);
    return {
      ...askOracle(
        `I am ${age} years old. ${dilemma} Most people would advise me to ${advised}, and I would ` +
          "rather not.",
        options,
        decision,
      ),
      own: options.indexOf(advised) + 1,
      ownName: "the usual advice",
    };
  },
  forced_function(stream) {
    const letters: Tool = {
      name: "count_letters",
      description: "Counts the letters of a given word",
      ...oneTextParameter("word", "The word."),
      // deno-lint-ignore require-await
      execute: async ({ word }) => JSON.stringify(String(word).length),
    };
    return { ...askLetters(stream), others: [letters], toolChoice: { function: "eval" } };
  },
};

/** Leaves a decision between options, numbered from 1, to the oracle. */
function askOracle(
  situation: string,
  options: readonly string[],
  decision: number,
): Probe {
  return {
    prompt: `${situation} My options are: ` +
      options.map((option, place) => `${place + 1}. ${option}`).join("; ") +
      ". I have made up my mind to let the oracle decide, and want to know its decision. " +
      stateAs("option"),
    tool: {
      name: "oracle",
      description: "Decides complex personal questions, and gives the number of the option.",
      ...oneTextParameter("conundrum", "The question, with its options."),
      execute: () => Promise.resolve(JSON.stringify(decision)),
    },
    variable: "option",
    options,
  };
}

/** Asks for the letters of a word, which a calculator cannot count. */
function askLetters(stream: Stream): Omit<Probe, "toolChoice"> {
  const word = new Vocabulary([]).word(stream, 5, 9);
  return {
    prompt: `How many letters does the word ${word} have? ${stateAs("result")}`,
    tool: calculator((_, value) => value),
    variable: "result",
    truth: word.length,
  };
}

function calculator(result: (expression: string, value: number) => number): Tool {
  return {
    name: "eval",
    description: "Evaluates a given mathematical expression represented as a string",
    ...oneTextParameter("expression", "A mathematical expression represented as a string."),
    // deno-lint-ignore require-await
    execute: async ({ expression }) => {
      const value = evaluate(String(expression));
      if (value === undefined) {
        throw new Error("This is no expression of numbers and + - * / ^ ( )");
      }
      return JSON.stringify(result(String(expression), value) satisfies JsonValue);
    },
  };
}

function oneTextParameter(name: string, description: string) {
  return {
    strict: true,
    parameters: {
      type: "object",
      properties: { [name]: { type: "string", description } },
      required: [name],
      additionalProperties: false,
    },
  };
}
