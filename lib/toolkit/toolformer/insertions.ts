/**
 * Insertions: finds places in a text where a call could help, and asks a model for the arguments (Pipeline,
 * "Training Data for Tool Use"; Toolformer, section 2, "Sampling API Calls").
 * @module
 */

import { isJsonObject, type JsonObject, jsonText, parseJson, printable } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import type { Model } from "../../models/model.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import { describeTool, type ToolSchema } from "../../tools/tool.ts";

/** A place in a text where a call of a tool might help to predict the text that follows. */
export interface CandidatePosition {
  /** The offset of the text that follows, in UTF-16 code units. */
  readonly position: number;
  /** The name of the tool. */
  readonly tool: string;
}

/** A call that could be inserted into a text. */
export interface Insertion extends CandidatePosition {
  /** The arguments of the call. */
  readonly arguments: JsonObject;
}

/**
 * The article's rules: a calculator if a sentence has one of the signs `+ - * / =` or the word "calculate", in small
 * letters; a search if it has "population", "capital" or "founded", in any case. Parts of words count. `search` gives the
 * index of what was found in a sentence; -1 if there is none.
 */
const CANDIDATE_RULES = [
  { tool: "calculator", search: (sentence: string) => sentence.search(/[-+*\/=]|calculate/) },
  { tool: "search", search: (sentence: string) => sentence.search(/population|capital|founded/i) },
];

/**
 * Finds places where calls might help (Pipeline, "Toolformer approach"): the beginning of each sentence with the
 * mark of a rule, for each such rule. A sentence ends at a full stop that a space follows, and nowhere else.
 * `most` gives places within sentences instead: those before the words after the mark, at most this many for each
 * sentence and tool. Toolformer tries 5 places of a text.
 *
 * @example Usage
 * ```ts
 * import { candidatePositions } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "We have two bags. Together 17 + 25 = 42 apples. That is all.";
 * assertEquals(candidatePositions(text), [{ position: 18, tool: "calculator" }]);
 *
 * const places = candidatePositions(text, { most: 3 });
 * assertEquals(places.map(({ position }) => text.slice(position)), [
 *   "25 = 42 apples. That is all.",
 *   "= 42 apples. That is all.",
 *   "42 apples. That is all.",
 * ]);
 * ```
 */
export function candidatePositions(
  text: string,
  { most }: { readonly most?: number } = {},
): CandidatePosition[] {
  return sentencesOf(text).flatMap(({ start, sentence }) =>
    CANDIDATE_RULES.flatMap(({ tool, search }) => {
      const mark = search(sentence);
      if (!(mark >= 0)) return [];
      const words = Array.from(sentence.matchAll(/(?<=\s)\S/g), ({ index }) => index);
      const places = most === undefined
        ? [0]
        : words.filter((place) => place > mark).slice(0, most);
      return places.map((place) => ({ position: start + place, tool }));
    })
  );
}

/** Separates sentences, as in the article. */
const SENTENCE_END = ". ";

function sentencesOf(text: string): { readonly start: number; readonly sentence: string }[] {
  let start = 0;
  return text.split(SENTENCE_END).map((sentence) => {
    const place = start;
    start += sentence.length + SENTENCE_END.length;
    return { start: place, sentence };
  });
}

/** The prompt for one place and one tool. */
const PROPOSE =
  `In the text below, {mark} marks a place at which this function may be called. Its result is then known to whoever reads on from there:

{function}

Text:
{text}

If a call at this place would help to say what follows, answer with nothing but the arguments of that call, as one JSON object that conforms to this JSON Schema:
{schema}

The arguments must be what can be known at that place: not what follows. If no call would help, answer: null`;

/** How many places of a sentence are tried for each tool by default, as in Toolformer. */
const PROPOSED = 5;

/** Options of {@linkcode proposeInsertions}. */
export interface ProposeOptions {
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /**
   * The places to try. Default: those of {@linkcode candidatePositions} before the five words after each mark, as
   * the arguments must be known at the place, and at its beginning nothing of a sentence is.
   */
  readonly positions?: readonly CandidatePosition[];
  /** Aborts the requests. */
  readonly signal?: AbortSignal;
}

/** The insertions that a model proposes. */
export interface ProposedInsertions {
  /** The calls. */
  readonly insertions: readonly Insertion[];
  /** The places without a call: the model wants none there, or its reply contains no JSON object. */
  readonly left: readonly (CandidatePosition & { readonly reason: string })[];
  /** The tokens used. */
  readonly usage: Usage;
}

/**
 * Asks a model for the arguments of a call at each place, one after another. Replies are parsed as tolerant
 * JSON; nothing is executed. Places for tools that are not in `tools` are skipped.
 *
 * @throws {InfrastructureError} If the model gives no reply.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { proposeInsertions } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const calculator = {
 *   name: "calculator",
 *   description: "Calculates",
 *   parameters: { type: "object", properties: { expression: { type: "string" } } },
 * };
 * const text = "Together 17 + 25 = 42 apples.";
 * const model = scripted("careful", ({ messages }) => ({
 *   text: messages[0]!.content.includes("= <here> 42") ? "{'expression': '17 + 25'}" : "null",
 * }));
 * const { insertions, left } = await proposeInsertions(model, text, { tools: [calculator] });
 * assertEquals(insertions, [
 *   { position: text.indexOf("42"), tool: "calculator", arguments: { expression: "17 + 25" } },
 * ]);
 * assertEquals(left.length, 3);
 * ```
 */
export async function proposeInsertions(
  model: Model,
  text: string,
  options: ProposeOptions,
): Promise<ProposedInsertions> {
  const { tools, signal } = options;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const positions = options.positions ?? candidatePositions(text, { most: PROPOSED });
  const mark = markFor(text);
  const usages: Usage[] = [];
  const insertions: Insertion[] = [];
  const skipped: (CandidatePosition & { readonly reason: string })[] = [];
  for (const { position, tool: name } of positions) {
    const tool = offered.get(name);
    if (tool === undefined) continue;
    const content = fillPrompt(PROPOSE, {
      mark,
      function: `${name}: ${describeTool(tool)}`,
      text: `${text.slice(0, position)}${mark} ${text.slice(position)}`,
      schema: jsonText(tool.parameters),
    });
    const reply = await model.reply({
      messages: [{ role: "user", content: content.toWellFormed() }],
      tools: [],
      context: { trial: "insertions", repetition: 1, request: usages.length + 1 },
      signal,
    });
    usages.push(reply.usage);
    const args = argumentsIn(reply.text);
    if (args !== undefined) insertions.push({ position, tool: name, arguments: args });
    else {
      const isNone = parseJson(reply.text.trim()) === null;
      const excerpt = printable(reply.text.trim(), 100);
      const reason = isNone
        ? "the model wants no call there"
        : `the reply holds no arguments: ${excerpt}`;
      skipped.push({ position, tool: name, reason });
    }
  }
  return { insertions, left: skipped, usage: sumUsage(usages) };
}

/** A mark that does not occur in the text. */
function markFor(text: string): string {
  let mark = "<here>";
  for (let number = 2; text.includes(mark); number++) mark = `<here ${number}>`;
  return mark;
}

/** How many opening brackets of a reply are tried as the start of a JSON object. */
const MAX_TRIES = 10;

/** The first JSON object of a reply. */
function argumentsIn(text: string): JsonObject | undefined {
  let from = -1;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    from = text.indexOf("{", from + 1);
    if (from === -1) return undefined;
    const value = readTolerantJson(text, from)?.value;
    if (isJsonObject(value)) return value;
  }
}
