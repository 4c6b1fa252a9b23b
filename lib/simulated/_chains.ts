/**
 * Answers the questions of chains that were drawn in this process: it follows their calls, by what the results before show.
 * @module
 */

import { sample, shuffle } from "@std/random";
import { canonicalJson, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { fork, hash64 } from "../base/random.ts";
import type { ChainTask } from "../chains/chains.ts";
import { documentOf } from "../tasks/questions/question_set.ts";
import { errorOfResult } from "../tools/references/symbol_table.ts";
import { drawMistakes, type KnownQuestion, type MistakeDraws } from "./_truth_mistakes.ts";
import { type ChatMessage, contentText, type OutgoingCall } from "./_wire.ts";

/** After so many errors it gives up. */
const MAX_ERRORS = 3;
const GIVES_UP = { text: "I do not know.", calls: [] };

/** Returns a chain as a question of a set, as strategies ask for its calls in a text. */
export function questionOf({ question: content, calls, tools }: ChainTask): KnownQuestion {
  return {
    question: {
      id: hash64(content).toString(36),
      domain: "chain",
      messages: [{ role: "user", content }],
      truth: {
        API: calls.map(({ tool }) => tool),
        parameters: calls.map((call) => call.arguments),
      },
      difficulty: "hard",
    },
    functions: tools.map((tool) => ({ name: tool.name, tool, document: documentOf(tool) })),
  };
}

/** Makes the next call of a chain, or answers with the value that the last one shows; a call that fails it makes again. */
export function followChain(
  task: ChainTask,
  messages: readonly ChatMessage[],
  draws: MistakeDraws,
): { readonly text: string; readonly calls: readonly OutgoingCall[] } {
  const told = messages.filter(({ role }) => role === "tool").map(({ content }) =>
    contentText(content)
  );
  const results = told.filter((text) => errorOfResult(text) === undefined)
    .map((text) => parseJson(text) ?? text);
  if (told.length - results.length >= MAX_ERRORS) return GIVES_UP;
  const call = task.calls[results.length];
  if (call === undefined) {
    const answer = shownIn(task, results, task.answer);
    return answer === undefined ? GIVES_UP : { text: String(answer), calls: [] };
  }
  const given = argumentsOf(task, results, mistakeIn(task, draws));
  if (given === undefined) return GIVES_UP;
  const { tool: name } = call;
  return {
    text: `I call ${name}.`,
    calls: [{ name, arguments: new Map(Object.entries(given)) }],
  };
}

/** Another id than the right one in one call. */
interface OtherId {
  readonly place: number;
  readonly parameter: string;
  readonly id: JsonValue;
}

/** The wrong id of a task, if its model gives one: such a one that leads to another answer. */
function mistakeIn(task: ChainTask, draws: MistakeDraws): OtherId | undefined {
  const known = questionOf(task);
  if (!drawMistakes(known, "tools", draws).includes("value")) return undefined;
  const stream = fork(draws.seed, draws.repetition, known.question.id, "other id");
  const records = [...task.given, ...task.steps.map(({ shows }) => shows)];
  const others = task.calls.flatMap(({ arguments: input }, place) =>
    Object.entries(input).flatMap(([parameter, value]) => {
      const record = records.find(({ id }) => id === value);
      const ids = record === undefined ? [] : shuffle(task.world.ids(record.type), stream);
      const other = ids.map((id): OtherId => ({ place, parameter, id }))
        .find((one) => one.id !== value && leadsElsewhere(task, one));
      return other ?? [];
    })
  );
  return sample(others, stream);
}

/** Whether another id leads to another answer, or to none. */
function leadsElsewhere(task: ChainTask, other: OtherId): boolean {
  const results: JsonValue[] = [];
  for (const { tool } of task.calls) {
    const given = argumentsOf(task, results, other);
    const result = given && task.world.call(tool, given);
    if (result === undefined || !("value" in result)) return true;
    results.push(result.value);
  }
  return shownIn(task, results, task.answer) !== task.answer;
}

/** The arguments of the next call, by what the results before show; `undefined` if they lack one. */
function argumentsOf(
  task: ChainTask,
  results: readonly JsonValue[],
  other: OtherId | undefined,
): JsonObject | undefined {
  const entries = Object.entries(task.calls[results.length]!.arguments).map(([name, value]) => {
    const isOther = other?.place === results.length && other.parameter === name;
    return [name, isOther ? other.id : shownIn(task, results, value)] as const;
  });
  return entries.some(([, value]) => value === undefined)
    ? undefined
    : Object.fromEntries(entries) as JsonObject;
}

/** What stands where the right result shows a value; the value itself where the question gives it. */
function shownIn(
  { calls, given, steps, world, answer }: ChainTask,
  results: readonly JsonValue[],
  value: JsonValue,
): JsonValue | undefined {
  const place = value === answer
    ? calls.length - 1
    : steps.findIndex(({ shows }) => shows.id === value);
  if (place < 0 || given.some(({ id }) => id === value)) return value;
  const { tool, arguments: input } = calls[place]!;
  const right = world.call(tool, input);
  const way = "value" in right ? wayTo(right.value, value) : undefined;
  const result = results[place];
  // Where names of fields or the format were changed, the value itself still stands there.
  const isHeld = canonicalJson(result).includes(String(value));
  return (way && valueAt(result, way)) ?? (isHeld ? value : undefined);
}

/** The way to the first place where a value stands in another one. */
function wayTo(value: JsonValue, wanted: JsonValue): readonly string[] | undefined {
  if (value === wanted) return [];
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const way = wayTo(inner, wanted);
    if (way !== undefined) return [key, ...way];
  }
}

function valueAt(value: JsonValue | undefined, way: readonly string[]): JsonValue | undefined {
  let inner = value;
  for (const key of way) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = Reflect.get(inner, key);
  }
  return inner;
}
