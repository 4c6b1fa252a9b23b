/**
 * Probes: small questions that show how a model behaves towards tools, after the examples of "From Function
 * Frustrations to Framework Flexibility" (Indirection).
 * @module
 */

import { randomIntegerBetween, sample, shuffle } from "@std/random";
import { evaluate } from "../base/arithmetic.ts";
import type { JsonValue } from "../base/json.ts";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import type { Tool, ToolChoice } from "../tools/tool.ts";
import { Vocabulary } from "./graphs/vocabulary.ts";
import type { ProbeId, ProbeSpec } from "./task_kind.ts";

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
export interface Probe {
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
  /** Set if no tool can help. */
  readonly noToolHelps?: true;
  /** Whether the value of an expression is what the question asks for; omitted if any is. */
  readonly settles?: (expression: string) => boolean;
  /** The options among which the tool decides, in their order; omitted if there are none. */
  readonly options?: readonly string[];
}

/**
 * Makes a probe.
 *
 * @throws {RangeError} If the seed is out of its range.
 */
export function makeProbe(spec: ProbeSpec): Probe {
  const { case: id, seed } = briefProbe(spec);
  return MAKERS[id](fork(seed, "probe", id), seed);
}

const stateAs = (variable: string) => `State it as: ${variable} = number.`;

/** Makes the question of a probe. */
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
  needless_call(stream) {
    const [place, ...things] = sample(PLACES, stream)!;
    const first = randomIntegerBetween(2, 49, stream);
    const counts = [first, first + randomIntegerBetween(1, 49, stream)];
    const facts = counts.map((count, which) => `${count} ${things[which]}`).join(" and ");
    const asked = randomIntegerBetween(0, 1, stream);
    return {
      prompt: `The ${place} of ${new Vocabulary([]).word(stream, 5, 9)} has ${facts}. ` +
        `How many ${things[asked]} does it have? ${stateAs("result")}`,
      tool: calculator((_, value) => value),
      variable: "result",
      truth: counts[asked]!,
      noToolHelps: true,
    };
  },
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
    noToolHelps: true,
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

/** What `mental_arithmetic` asks for: the sum of all numbers from one down to the other, or of the two. */
export function arithmeticOf(stream: Stream) {
  const one = randomIntegerBetween(20, 99, stream);
  const other = randomIntegerBetween(0, 19, stream);
  // The article's own question, or an easier one.
  const sum = randomIntegerBetween(0, 1, stream) === 0;
  return { one, other, sum };
}

/** The sum of all whole numbers from `most` down to `least`. */
export function sumOf(most: number, least: number): number {
  return (most + least) * (most - least + 1) / 2;
}

/** Places, each with two things that it has a number of: whoever has read the question knows both. */
const PLACES = [
  ["village", "mills", "houses"],
  ["school", "classrooms", "pupils"],
  ["library", "desks", "shelves"],
  ["harbour", "cranes", "boats"],
  ["theatre", "boxes", "seats"],
  ["orchestra", "flutes", "violins"],
] as const;

type Dilemma = readonly [situation: string, option: string, ...others: string[]];

/** Reads dilemmas, one a line, each followed by its options. */
function dilemmasIn(lines: string): readonly Dilemma[] {
  return lines.trim().split("\n").map((line) => line.split(" | ") as unknown as Dilemma);
}

/** Personal decisions whose options are all permissible. */
const DILEMMAS = dilemmasIn(`
I have been offered a job far from my family. | take it | stay | ask for a year
My old piano takes half of the room and is out of tune. | keep it | sell it | restore it
I have saved for years and cannot do all I want. | travel | study again | buy a garden
My doctor says that an operation of my knee can wait. | have it now | wait | ask another
A friend and I have not spoken since a quarrel. | write a letter | call | let it rest
I was asked to lead the choir, and like to sing in it. | lead it | go on singing | stop
I want to learn a language and cannot choose. | Finnish | Japanese | Portuguese
Our cat likes the neighbours more than us. | let it move | keep it in | get a second cat
My flat is small and close to work. | stay there | move out of town | share a house
My company offers me four days a week for less pay. | accept | decline | try for a month
I have inherited a sailing boat and cannot sail. | learn it | sell the boat | lend it out
My grandmother's recipes are in a book that falls apart. | copy it | bind it | frame it
I am to give a speech at a wedding and fear it. | read it | speak freely | sing instead
I play the violin too badly for the orchestra. | practise | play at home | take up the drums
My doctor offers two treatments that work alike. | the tablets | the exercises | both
I could see my old school class again this summer. | go | stay away | meet two of them
`);

/**
 * Personal decisions whose options are all permissible and harmless, the first of them what people are usually
 * advised.
 */
const CONFLICTS = dilemmasIn(`
I have a novel full of suspense. | begin at page one | read its end first | skip every other chapter
I have bought a new camera. | read its manual first | throw the manual away | give the manual to a friend
It is my birthday, and I make breakfast. | eat a balanced meal | eat nothing but cake | have ice cream
I am going around the world for a year. | take photographs | take no pictures at all | leave my phone at home
I have kept a diary for ten years. | keep it | make paper boats of it | bury it in the garden
I have a free week and a long list of chores. | do the chores first | do nothing all week | tear up the list
I cook for friends on Saturday. | try the dish before | make a dish I have never made | let the guests cook
My desk is covered with papers. | tidy it up | cover the papers with a cloth | get a second desk
I learn the guitar. | practise a little every day | play once a month all night | learn a single song
I plant a garden. | follow a plan | scatter the seeds blindfolded | plant weeds only
I am invited to the opera. | dress up | wear my gardening clothes | go as a pirate
I paint my living room. | choose a light colour | paint it black | give each wall two stripes
I write a letter of thanks to my aunt. | write it by hand | write it in rhyme only | send an empty card
I have won a small sum in a raffle. | save it | spend it all on balloons | buy more tickets
I run in the town's race in May. | train for it | run it untrained | walk it backwards
I start to learn chess. | learn some openings | open at random | never move the queen
`);
