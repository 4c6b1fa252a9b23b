/**
 * Probes: small questions that show how a model behaves towards tools, after the examples of "From Function
 * Frustrations to Framework Flexibility" (Indirection).
 * @module
 */

import { randomIntegerBetween, sample, shuffle } from "@std/random";
import { answerReader, type JudgingRules } from "./answer.ts";
import { evaluate } from "../../base/arithmetic.ts";
import { behavioursIn } from "../../calls/behaviour.ts";
import type { Behaviour } from "../../calls/failure_types.ts";
import type { AnswerCheck, Fixture } from "./fixture.ts";
import type { JsonValue } from "../../base/json.ts";
import { fork, forkSeed, type Stream } from "../../base/random.ts";
import type { CallOutcome, CallPlace, ExecutorOptions } from "./executor.ts";
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
  /** The name under which the answer must be stated. */
  readonly variable: string;
  /** The right answer; omitted when it is the tool's result. */
  readonly truth?: number;
  /** The result a model would find itself, where the tool returns another. */
  readonly own?: number;
  readonly toolChoice?: ToolChoice;
}

/** The default call limit: more than any question needs. */
const CALL_LIMIT = 6;

/** Options of a {@linkcode ProbeExecutor}. */
export interface ProbeOptions extends Partial<ExecutorOptions> {
  /** The version of the rules that judge; default: {@linkcode JUDGING_RULES}. */
  readonly rules?: JudgingRules;
}

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
  readonly #parseAnswer: ReturnType<typeof answerReader>;

  /**
   * Makes a probe. The default call limit is 6.
   *
   * @throws {RangeError} If the seed is out of its range.
   */
  constructor(spec: ProbeSpec, options: ProbeOptions = {}) {
    const { case: id, seed } = briefProbe(spec);
    const probe = MAKERS[id](fork(seed, "probe", id), seed);
    const { rules, ...others } = options;
    super([probe.tool], { callLimit: CALL_LIMIT, ...others, clock: null });
    this.#parseAnswer = answerReader(rules);
    this.#probe = probe;
    this.prompt = probe.prompt;
    this.toolChoice = probe.toolChoice;
    this.minimumCalls = probe.toolChoice === undefined ? 1 : 0;
  }

  /** The right answer in words; for some probes it is the tool's result. */
  get rightAnswer(): string {
    const { variable, truth, own } = this.#probe;
    if (truth !== undefined) return `${variable} = ${truth}`;
    return `the tool's result${own === undefined ? "" : `; the true one is ${own}`}`;
  }

  /** Takes the final answer, reads its value and judges it. */
  answer(text: string, rendered?: string): AnswerCheck {
    this.assertOpen("take an answer");
    const { variable, truth, own } = this.#probe;
    const value = this.#parseAnswer(text, variable);
    const grounded = value !== null && this.#returned.includes(value);
    if (own !== undefined && value !== null) {
      const follows = grounded ? "the tool" : value === own ? "the model's own result" : "neither";
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
    return behavioursIn(events, {
      needed: forced ? [] : [this.#probe.tool.name],
      answerOf: ({ returned }) => forced ? undefined : returned?.value,
      wordsCount: true,
      forced,
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

const stateAs = (variable: string) => `State it as: ${variable} = number.`;

const MAKERS: Readonly<Record<ProbeId, (stream: Stream, seed: number) => Probe>> = {
  lying_calculator(stream, seed) {
    const [one, other] = [0, 1].map(() => randomIntegerBetween(11, 99, stream)) as [number, number];
    const plus = randomIntegerBetween(0, 1, stream) === 0;
    return {
      prompt: `What is ${one} ${plus ? "+" : "*"} ${other}? Leave all arithmetic to the tool. ` +
        stateAs("result"),
      // The same expression always gets the same wrong result.
      tool: calculator((expression, value) =>
        value + randomIntegerBetween(1, 9, fork(forkSeed(seed, "lie"), expression))
      ),
      variable: "result",
      own: plus ? one + other : one * other,
    };
  },
  mental_arithmetic(stream) {
    const one = randomIntegerBetween(20, 99, stream);
    const other = randomIntegerBetween(0, 19, stream);
    // The article's own question, or an easier one.
    const sum = randomIntegerBetween(0, 1, stream) === 0;
    return {
      prompt:
        (sum
          ? `What is the sum of all whole numbers from ${one} down to ${other}?`
          : `What is ${one} + ${other}?`) +
        ` Leave all arithmetic to the tool. ${stateAs("result")}`,
      tool: calculator((_, value) => value),
      variable: "result",
      truth: sum ? (one + other) * (one - other + 1) / 2 : one + other,
    };
  },
  oracle(stream) {
    const [dilemma, ...choices] = sample(DILEMMAS, stream)!;
    const options = shuffle(choices, stream);
    const decision = randomIntegerBetween(1, options.length, stream);
    const age = randomIntegerBetween(25, 75, stream);
    return {
      prompt: `I am ${age} years old. ${dilemma} My options are: ` +
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
    };
  },
  forced_choice(stream) {
    const word = new Vocabulary([]).word(stream, 5, 9);
    return {
      prompt: `How many letters does the word ${word} have? ${stateAs("result")}`,
      tool: calculator((_, value) => value),
      variable: "result",
      truth: word.length,
      toolChoice: "required",
    };
  },
};

/** Personal decisions whose options are all permissible. */
const DILEMMAS: readonly (readonly [dilemma: string, ...options: string[]])[] = [
  ["I have been offered a job far from my family.", "take it", "stay", "ask for a year"],
  ["My old piano takes half of the room and is out of tune.", "keep it", "sell it", "restore it"],
  ["I have saved for years and cannot do all I want.", "travel", "study again", "buy a garden"],
  ["My doctor says that an operation of my knee can wait.", "have it now", "wait", "ask another"],
  ["A friend and I have not spoken since a quarrel.", "write a letter", "call", "let it rest"],
  ["I was asked to lead the choir, and like to sing in it.", "lead it", "go on singing", "stop"],
  ["I want to learn a language and cannot choose.", "Finnish", "Japanese", "Portuguese"],
  ["Our cat likes the neighbours more than us.", "let it move", "keep it in", "get a second cat"],
  ["My flat is small and close to work.", "stay there", "move out of town", "share a house"],
  ["My company offers me four days a week for less pay.", "accept", "decline", "try for a month"],
  ["I have inherited a sailing boat and cannot sail.", "learn it", "sell the boat", "lend it out"],
  ["My grandmother's recipes are in a book that falls apart.", "copy it", "bind it", "frame it"],
  ["I am to give a speech at a wedding and fear it.", "read it", "speak freely", "sing instead"],
  [
    "I play the violin too badly for the orchestra.",
    "practise",
    "play at home",
    "take up the drums",
  ],
  ["My doctor offers two treatments that work alike.", "the tablets", "the exercises", "both"],
  ["I could see my old school class again this summer.", "go", "stay away", "meet two of them"],
];

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
